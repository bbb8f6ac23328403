"""A vector at an address that is no multiple of its size: the function that reads it there is named."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("clang.cindex")
pytest.importorskip("pyopencl")

from test_running import HERE, findings, platform, sanitized

__all__ = ["platform"]
STEPS = {
    "records": "Use `vload4(0, rec + i * 5 + 1)` with a pointer to float: it needs the alignment of one float only.",
    "packed": "Use `as_int(vload4(0, bytes + i * 5 + 1))` with a pointer to the buffer's elements of 1 byte",
    "stored": "Use `vstore2(value, 0, o + i * 3 + 1)` with a pointer to float",
}


@pytest.mark.timeout(600)
def test_the_function_that_needs_less_alignment_is_named(platform: dict[str, str], tmp_path: Path) -> None:
    sanitized(tmp_path / "case", str(HERE / "programs/misaligned.py"), "wrong", env=platform)
    found = {one["site"]["kernel"]: one for one in findings(tmp_path / "case")}  # type: ignore[index]
    assert set(found) == set(STEPS)
    for kernel, step in STEPS.items():
        assert found[kernel]["id"] == "kernel-check-alignment" and step in found[kernel]["steps"][0], found[kernel]  # type: ignore[index]
