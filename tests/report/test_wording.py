"""Sentences in the words of the program's own API."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sample_cases import FULL

from gpudx.model import Drawing
from gpudx.model.drawing import Decoded, Excerpt, MemoryMap, Point, Timeline
from gpudx.report.wording import drawn, reworded

TEXT = "cuMemcpyDtoH_v2 in queue #2 reads memory #7 while queues wait"


def summary(api: str) -> str:
    entry = FULL.diagnosis[0]
    assert entry.guilty
    case = replace(FULL, diagnosis=(replace(entry, summary=TEXT, guilty=replace(entry.guilty, api=api)),))
    return reworded(case).diagnosis[0].summary


def test_streams_for_cuda_and_hip() -> None:
    assert summary("cuda") == summary("hip") == "cuMemcpyDtoH in stream #2 reads buffer #7 while streams wait"


def test_queues_for_opencl() -> None:
    assert "in queue #2" in summary("opencl") and "queues wait" in summary("opencl")


def test_ids_stay() -> None:
    entry = FULL.diagnosis[0]
    case = replace(FULL, diagnosis=(replace(entry, summary="see queue-driven-by-threads"),))
    assert "queue-driven-by-threads" in reworded(case).diagnosis[0].summary


@pytest.mark.parametrize(
    "frame", ["cudaMemcpy+0x1a3 (libcudart.so.13)", "cudaMemcpy_ptds (app)", "cudaMemcpy at copy.cu:7 (app)"]
)
def test_the_function_of_the_runtime_that_the_user_called(frame: str) -> None:
    entry = FULL.diagnosis[0]
    assert entry.guilty
    stack = ("libcuda.so.1+0x2a", frame, "main at main.cu:80 (app)")
    guilty = replace(entry.guilty, api="cuda", call="cuMemcpyDtoH_v2", host_stack=stack)
    case = replace(FULL, diagnosis=(replace(entry, summary=f"{TEXT} and cuMemcpyHtoD_v2 too", guilty=guilty),))
    best = reworded(case).diagnosis[0]
    assert best.summary == "cudaMemcpy in stream #2 reads buffer #7 while streams wait and cuMemcpyHtoD too"
    assert best.guilty and best.guilty.call == "cudaMemcpy"


def test_the_driver_stays_where_the_user_called_it() -> None:
    entry = FULL.diagnosis[0]
    assert entry.guilty
    guilty = replace(
        entry.guilty, api="cuda", call="cuMemcpyDtoH_v2", host_stack=("main at main.cu:80 (app)", "cudart_like (x)")
    )
    case = replace(FULL, diagnosis=(replace(entry, summary=TEXT, guilty=guilty),))
    assert reworded(case).diagnosis[0].summary.startswith("cuMemcpyDtoH in stream")


@pytest.mark.parametrize(("api", "stream"), [("hip", "stream"), ("cuda", "stream"), ("opencl", "queue")])
def test_drawings_have_the_same_words(api: str, stream: str) -> None:
    """What the program named, and its source, stay as they are."""
    entry = FULL.diagnosis[0]
    assert entry.guilty
    case = replace(FULL, findings=(), diagnosis=(replace(entry, guilty=replace(entry.guilty, api=api)),))
    source = Excerpt("main.cu:1", 1, 1, ("queue.wait(); // memory #7",))
    near = ("memory #7", "0x1000", "64", "live", "3", "", "")
    given = Drawing(
        timelines=(Timeline(1, "app", 1.0, {}, ("queue",), ("queue #2", "the default queue"), ("thread 5",)),),
        maps=(MemoryMap(1, 9, True, 1, {}, ("memory", "sub-buffer"), (Point("the end of memory #7", 1, 1),), (near,)),),
        guilty=Decoded((("queue", "queue #2"), ("kernel", "queue")), (("0", "float*", "8", "queue", "memory #7, 64 bytes"),)),
        excerpt=source,
    )
    told = drawn(given, case)
    assert told.timelines[0].queues == (f"{stream} #2", f"the default {stream}") and told.timelines[0].names == ("queue",)
    assert told.maps[0].kinds == ("buffer", "sub-buffer") and told.maps[0].near == (("buffer #7", *near[1:]),)
    assert told.maps[0].points[0].text == "the end of buffer #7"
    assert told.guilty == Decoded(((stream, f"{stream} #2"), ("kernel", "queue")), (("0", "float*", "8", "queue", "buffer #7, 64 bytes"),))
    assert told.excerpt == source
