"""Structs of one name that the host and the kernel lay out differently, by debug information and the kernel's source."""

from __future__ import annotations

import pytest
from support.opencl import OpenCL

ID = "struct-layout"


@pytest.mark.parametrize(
    ("mode", "says", "why"),
    [
        ("narrow", "`block` has 12 bytes on the host", "`last` is at byte 8 on the host"),
        ("order", "`first` is at byte 4 on the host", "15 structs of the host"),
        ("value", "`add` is at byte 4 on the host", "passed 8 bytes for it, which is the size of both"),
    ],
)
def test_another_layout_is_named(opencl: OpenCL, mode: str, says: str, why: str) -> None:
    run = opencl.run("struct_layout", mode)
    found = run.only(ID)
    assert run.outcome.exit_code == 1 and found.severity == "error"
    assert says in found.message
    assert any(why in one.text for one in found.evidence)
    assert found.root is not None and (found.root.source or "").endswith(("struct_layout.c:5", "struct_layout.c:6"))


@pytest.mark.parametrize("mode", ["right", "converted", "same value"])
def test_the_same_layout_and_structs_that_were_converted_are_silent(opencl: OpenCL, mode: str) -> None:
    run = opencl.run("struct_layout", mode)
    assert run.outcome.passed and not run.of(ID)
