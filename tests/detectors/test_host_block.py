"""host-block on real runs with the heap logged, and what experiments change: arguments that are exchanged, offsets multiplied."""

from __future__ import annotations

import shutil

import pytest
from support.opencl import PROGRAMS, OpenCL, Recorded

from gpudx.facts.copy_offsets import Offsets

PROGRAM, ID = "heap", "host-block"


def logged(opencl: OpenCL, mode: str) -> Recorded:
    """A run with the log of the heap behind the recorder."""
    return opencl.run(PROGRAM, mode, LD_PRELOAD=f"{opencl.recorder}:{opencl.recorder.with_name('libgpudx-heap.so')}")


def test_a_copy_into_a_block_that_is_too_small(opencl: OpenCL) -> None:
    one = logged(opencl, "short").only(ID)
    assert one.causes == ("host-access-outside-buffer",) and one.certainty == "observed"
    assert "writes 4,096 bytes to host memory that has only 2,048 bytes, allocated at heap.c:" in one.message
    assert one.site is not None and one.site.call == "clEnqueueReadBuffer"
    assert one.root is not None and one.root.call == "malloc" and (one.root.source or "").endswith("heap.c:9")


def test_a_buffer_on_memory_that_was_freed(opencl: OpenCL) -> None:
    one = logged(opencl, "freed").only(ID)
    assert one.causes == ("host-memory-freed-in-use",)
    assert one.site is not None and (one.site.kernel, one.site.argument) == ("copy", 0)
    assert one.root is not None and one.root.call == "free" and "heap.c:" in (one.root.source or "")


def test_memory_that_was_freed_under_a_copy(opencl: OpenCL) -> None:
    one = logged(opencl, "sent").only(ID)
    assert one.causes == ("host-memory-changed-under-copy",) and "freed" in one.message
    assert one.site is not None and one.site.call == "clEnqueueWriteBuffer"
    assert f"between call {one.site.number} (heap.c:" in one.evidence[0].text


@pytest.mark.parametrize("mode", ["enough", "part", "kept", "sent, waited for"])
def test_memory_that_is_large_enough_and_stays_is_silent(opencl: OpenCL, mode: str) -> None:
    run = logged(opencl, mode)
    assert run.outcome.kind == "passed" and run.facts.heap.logged and not run.of(ID)


def test_without_a_log_nothing_is_said(opencl: OpenCL) -> None:
    run = opencl.run(PROGRAM, "short")
    assert not run.facts.heap.logged and not run.of(ID)


@pytest.mark.parametrize(
    ("asked", "fails"), [("", True), ("blend:0:1", False), ("blend:0:2", True), ("other:0:1", True), ("0:1", True)]
)
def test_arguments_are_exchanged_as_asked(opencl: OpenCL, asked: str, fails: bool) -> None:
    run = opencl.run(PROGRAM, "exchanged", **({"GPUDX_EXCHANGE": asked} if asked else {}))
    assert run.outcome.failed == fails, run.output


@pytest.mark.parametrize(
    ("mode", "asked", "fails"),
    [
        ("offset", "", True),
        ("offset", "b:128:256:4", False),
        ("offset", "b:0:256:4", False),
        ("offset", "b:128:256:2", True),
        ("offset", "s:128:256:4", True),
        ("offset", "b:128:260:4", True),
        ("offset", "nonsense", True),
        ("offset of a copy", "s:128:256:4", False),
        ("offset of a copy", "d:128:256:4", True),
    ],
)
def test_offsets_are_multiplied_as_asked(opencl: OpenCL, mode: str, asked: str, fails: bool) -> None:
    run = opencl.run(PROGRAM, mode, **({"GPUDX_SCALE_OFFSET": asked} if asked else {}))
    assert run.outcome.failed == fails, run.output


def test_offsets_that_may_be_in_elements_are_listed(opencl: OpenCL) -> None:
    assert Offsets(opencl.run(PROGRAM, "offset").facts).wishes == ("b:128:256:4",)
    assert not Offsets(opencl.run(PROGRAM, "enough").facts).wishes


# ---- memory of the C++ library ----


def vector(opencl: OpenCL, mode: str) -> Recorded:
    if not shutil.which("c++"):
        pytest.skip("no C++ compiler (c++)")
    flags = ["-std=c++17", "-O1", "-g", "-fpermissive", "-w", f"-I{opencl.include}", f"-I{PROGRAMS}"]
    built = opencl.built("grown_vector", "c++", *flags, PROGRAMS / "grown_vector.cpp", *opencl.loader.link, "-lpthread")
    heap = f"{opencl.recorder}:{opencl.recorder.with_name('libgpudx-heap.so')}"
    return opencl.record([built, mode], LD_PRELOAD=heap)


def test_a_vector_that_grew_under_a_buffer(opencl: OpenCL) -> None:
    one = vector(opencl, "grown").only(ID)
    assert one.causes == ("host-memory-freed-in-use",)
    assert "whose host memory the program had already freed" in one.message and "new_allocator" not in one.message
    assert any("made buffer #1 on 4,096 bytes of the program's own memory" in fact.text for fact in one.evidence)
    assert any("was freed" in fact.text and "between call" in fact.text and "grown_vector.cpp:" in fact.text for fact in one.evidence)


def test_a_vector_with_room_is_silent(opencl: OpenCL) -> None:
    run = vector(opencl, "right")
    assert run.outcome.kind == "passed" and run.facts.heap.logged and not run.of(ID)
