"""Sentences in the words of the program's own API."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sample_cases import FULL

from gpudx.report.wording import reworded

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
