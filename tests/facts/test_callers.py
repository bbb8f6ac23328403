"""The line that decided a call: beyond wrappers that the record shows to be some, and never by a guess."""

from __future__ import annotations

import shutil

import pytest
from support.opencl import PROGRAMS, OpenCL

from gpudx.facts.callers import LIBRARIES
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


# ---- lines of installed headers ----

BINDINGS = (PROGRAMS / "bindings.c").read_text().split("\n")


def bound_line(mark: str) -> str:
    return f"bindings.c:{next(number for number, text in enumerate(BINDINGS, 1) if f'/* {mark} */' in text)}"


@pytest.mark.parametrize("stacks", ["", "1"])
@pytest.mark.parametrize("mode", ["direct", "inlined", "function"])
def test_a_line_of_a_binding_is_never_the_programs(opencl: OpenCL, mode: str, stacks: str) -> None:
    facts = opencl.run("bindings", mode, GPUDX_STACKS=stacks).facts
    site = facts.sites.at(int(facts.trace.named("clCreateBuffer")[-1]))
    assert site.source is not None and site.source.endswith(bound_line(f"{mode}: line"))
    through = bound_line("function: wrapper") if mode == "function" else None
    assert site.through is None if through is None else site.through is not None and site.through.endswith(through)


def test_without_stacks_the_binding_is_all_that_is_known(opencl: OpenCL) -> None:
    facts = opencl.run("bindings", "direct", GPUDX_STACKS="0").facts
    site = facts.sites.at(int(facts.trace.named("clCreateBuffer")[-1]))
    assert site.source is not None and "opencl.hpp" in site.source


def test_the_first_releases_have_stacks(opencl: OpenCL) -> None:
    """They say which owner released it; the thousands after them would cost time and room."""
    facts = opencl.run("bindings", "many").facts
    ended = facts.trace.named("clReleaseMemObject").tolist()
    assert [facts.stacks.at(position) is not None for position in ended] == [True] * 128 + [False] * 172


def test_where_an_object_dies_is_named_not_its_destructor(opencl: OpenCL) -> None:
    if not shutil.which("c++"):
        pytest.skip("no C++ compiler (c++)")
    text = (PROGRAMS / "destroyed.cpp").read_text().split("\n")
    flags = ["-std=c++17", "-O1", "-g", "-fpermissive", "-w", f"-I{opencl.include}", f"-I{PROGRAMS}"]
    built = opencl.built("destroyed", "c++", *flags, PROGRAMS / "destroyed.cpp", *opencl.loader.link, "-lpthread")
    facts = opencl.record([built, "right"]).facts
    site = facts.sites.at(int(facts.trace.named("clReleaseMemObject")[-1]))
    end = next(number for number, line in enumerate(text, 1) if line.endswith("// end"))
    assert site.source is not None and site.source.endswith((f"destroyed.cpp:{end}", f"destroyed.cpp:{end - 1}"))
    assert site.through is not None and "destroyed.cpp:" in site.through


def test_lines_of_interpreters_and_packages_are_nobodys() -> None:
    for path in ("/opt/lib/python3.11/lib-dynload/_ctypes.so", "/venv/lib/python3.11/site-packages/a/b.so", "/opt/bin/python3.11"):
        assert LIBRARIES.match(path)
    for path in ("/home/me/lib/engine.so", "/home/me/python_tool/app"):
        assert not LIBRARIES.match(path)
