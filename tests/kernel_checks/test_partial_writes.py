"""A kernel that reads past what a fill, write or copy has written: the call is named, with the bytes that it wrote."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("clang.cindex")
pytest.importorskip("pyopencl")

from test_running import HERE, findings, platform, sanitized

__all__ = ["platform"]

# kernel: part of the sentence, part of the first step, the call to change
REASONS = {
    "filled": ("filled 256 of the 1,024 bytes of `a`: 256 is its number of elements", "256 x 4 = 1,024", "clEnqueueFillBuffer"),
    "written": ("wrote the first 400 bytes of `a` only, and it has 1,024", "past byte 399", "clEnqueueWriteBuffer"),
    "copied": ("wrote 256 of the 2,048 bytes of `a`: 256 is its number of elements", "256 x 8 = 2,048", "clEnqueueCopyBuffer"),
}


@pytest.mark.timeout(600)
def test_the_call_that_wrote_too_little_is_named(platform: dict[str, str], tmp_path: Path) -> None:
    case = tmp_path / "case"
    sanitized(case, str(HERE / "programs/partial.py"), "wrong", env=platform)
    found = {one["site"]["kernel"]: one for one in findings(case)}  # type: ignore[index]
    assert set(found) == {*REASONS, "near", "tally"}  # and not count: what is outside there follows from what near read
    near, tally = found["near"], found["tally"]
    assert near["severity"] == "error" and "filled 256 of the 1,024 bytes of `from`" in str(near["message"])
    assert "1 access outside a buffer in launch 5 was reported after it and can follow from it" in str(near["evidence"])
    assert tally["id"] == "kernel-check-bounds" and "`key[0]` is 99" in str(tally["message"])
    assert all(found[one]["severity"] == "warning" for one in REASONS)
    for kernel, (sentence, step, call) in REASONS.items():
        assert sentence in str(found[kernel]["message"]), found[kernel]["message"]
        assert step in str(found[kernel]["steps"]) and found[kernel]["root"]["call"] == call  # type: ignore[index]
