"""Sentences about what the recorder left undone for lack of time, from written records."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.cuda_world import CudaWorld

from gpudx.diagnose import fenced_runs, left_undone
from gpudx.facts import Facts, derive
from gpudx.model.how import Fence


@pytest.fixture
def cuda(schema: str) -> CudaWorld:
    return CudaWorld(schema)


def facts(cuda: CudaWorld, folder: Path) -> Facts:
    return derive(cuda.write(folder / "1-0.gdx"))


def fenced(cuda: CudaWorld, **counts: int) -> None:
    memory = cuda.alloc(1024)
    block = {"object": memory, "address": memory, "size": 1024, "begin": memory - 4096, "end": memory + 8192}
    cuda.note("note_fence_block", block | {"state": 1, "align": 256, "edge": 1})
    cuda.note("note_fence", {"checks": 2, "damaged": 0, "shared": 0, "skipped": 0, "extra_mb": 0} | counts)


def test_looks_that_the_budget_did_not_allow(cuda: CudaWorld, tmp_path: Path) -> None:
    fenced(cuda, skipped=3)
    tool = fenced_runs.instrument(Fence(), [facts(cuda, tmp_path)])
    assert tool.blind.startswith("the bytes beside buffers were not compared at 3 waits")
    assert "The bytes beside buffers were not compared at 3 waits" in tool.saw


def test_nothing_is_shown_of_looks_that_were_made(cuda: CudaWorld, tmp_path: Path) -> None:
    fenced(cuda)
    tool = fenced_runs.instrument(Fence(), [facts(cuda, tmp_path)])
    assert not tool.blind and "not compared" not in tool.saw


def test_each_kind_once_with_its_highest_count(cuda: CudaWorld, tmp_path: Path) -> None:
    for count in (1, 2, 4):
        cuda.note("note_gave_up", {"times": count}, "This was not done")
    cuda.note("note_gave_up", {"times": 1}, "That was not done")
    shown = left_undone.not_checked([facts(cuda, tmp_path)])
    assert shown == ("This was not done (at least 4 times).", "That was not done (at least once).")


def test_a_run_in_which_all_was_done(cuda: CudaWorld, tmp_path: Path) -> None:
    cuda.alloc(64)
    assert left_undone.not_checked([facts(cuda, tmp_path)]) == ()
