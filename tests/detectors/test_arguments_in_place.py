"""arguments-overlap: one launch that works in place, of a kernel that otherwise never does."""

from __future__ import annotations

import pytest
from support.opencl import OpenCL

ID = "arguments-overlap"


def test_the_only_launch_in_place_is_a_lead(opencl: OpenCL) -> None:
    one = opencl.run("in_place", "once").only(ID)
    assert one.severity == "warning" and "none of its other 3 launches works in place" in one.message


@pytest.mark.parametrize("mode", ["twice", "never", "passed"])
def test_in_place_on_purpose(opencl: OpenCL, mode: str) -> None:
    assert not opencl.run("in_place", mode).of(ID)
