"""Sentences in the words of the program's own API."""

from __future__ import annotations

from dataclasses import replace

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
