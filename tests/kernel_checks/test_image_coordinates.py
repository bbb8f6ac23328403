"""Coordinates in images: pixels for a sampler with normalized coordinates, writes outside of the image."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("clang.cindex")
pytest.importorskip("pyopencl")

from test_running import HERE, findings, platform, sanitized

__all__ = ["platform"]

# kernel: part of the sentence, part of the first step
REASONS = {
    "pixels": ("through a sampler with normalized coordinates, which go from 0 to 1", "argument 1 without normalized coordinates"),
    "in_source": ("through a sampler with normalized coordinates, which go from 0 to 1", "CLK_NORMALIZED_COORDS_FALSE"),
    "beyond": ("The launch has 48 work-items in dimension 0, and the image has 32 x 32 pixels", "get_image_width()"),
}


@pytest.mark.timeout(600)
def test_coordinates_that_are_not_meant_are_found(platform: dict[str, str], tmp_path: Path) -> None:
    case = tmp_path / "case"
    done = sanitized(case, str(HERE / "programs/images.py"), "wrong", env=platform)
    found = {one["site"]["kernel"]: one for one in findings(case)}  # type: ignore[index]
    assert "done" in done.stdout and set(found) == set(REASONS), done.stderr
    for kernel, (sentence, step) in REASONS.items():
        assert sentence in str(found[kernel]["message"]), found[kernel]["message"]
        assert step in str(found[kernel]["steps"]), found[kernel]["steps"]
    assert str(found["pixels"]["root"]["call"]).startswith("clCreateSampler")  # type: ignore[index]
    assert "outside of argument 0 `a`" in str(found["beyond"]["message"])
