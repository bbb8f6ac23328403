"""The line that decided a call: beyond wrappers that the record shows to be some, and never by a guess."""

from __future__ import annotations

import pytest
from support.opencl import PROGRAMS, OpenCL

from gpudx.model import Site

SOURCE = (PROGRAMS / "wrapped.c").read_text().split("\n")


def line(mark: str) -> str:
    return f"wrapped.c:{next(number for number, text in enumerate(SOURCE, 1) if f'/* {mark} */' in text)}"


def last(opencl: OpenCL, mode: str, stacks: str) -> Site:
    """The last buffer, or the last launch, of a run."""
    facts = opencl.run("wrapped", mode, GPUDX_STACKS=stacks).facts
    call = "clEnqueueNDRangeKernel" if mode == "launches" else "clCreateBuffer"
    return facts.sites.at(int(facts.trace.named(call)[-1]))


@pytest.mark.parametrize(
    ("mode", "wrapper"),
    [("outlined", "outlined"), ("around", "outlined"), ("inlined", "inlined"), ("launches", "launches")],
)
def test_the_caller_of_a_wrapper_is_named(opencl: OpenCL, mode: str, wrapper: str) -> None:
    site = last(opencl, mode, stacks="1")
    assert site.source is not None and site.source.endswith(line(f"{mode}: line"))
    assert site.through is not None and site.through.endswith(line(f"{wrapper}: wrapper"))


@pytest.mark.parametrize("mode", ["decides", "direct"])
def test_a_line_that_decides_itself_is_no_wrapper(opencl: OpenCL, mode: str) -> None:
    site = last(opencl, mode, stacks="1")
    assert site.source is not None and site.source.endswith(line(f"{mode}: line")) and site.through is None


def test_without_stacks_only_an_inlined_wrapper_is_passed_over(opencl: OpenCL) -> None:
    site = last(opencl, "outlined", stacks="0")
    assert site.source is not None and site.source.endswith(line("outlined: wrapper")) and site.through is None
    site = last(opencl, "inlined", stacks="0")
    assert site.source is not None and site.source.endswith(line("inlined: line")) and site.through is not None
