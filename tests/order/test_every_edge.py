"""A pair of operations is ordered at every occurrence (GPUDX_EDGE=NAME:*>NAME:*), on a real OpenCL driver and a fake CUDA one."""

from __future__ import annotations

from pathlib import Path

import pytest
from order_kit import HERE, Kit, Played, Stage, asked, done_at
from support.opencl import OpenCL
from support.typed import pair
from test_held import FLIPPED, race
from test_held_calls import work

from gpudx.lab.at_sites import edge_words, every_edge

FIRST, SECOND = 2, 4


def play(opencl: OpenCL, mode: str, which: str, **environment: str) -> Played:
    built = opencl.build([HERE / "programs/opencl_queues.c"], "-Werror")
    ran = opencl.record([built, mode, which], **environment)
    return Played(ran.outcome.exit_code, ran.output, ran.traces[0])


@pytest.mark.parametrize("mode", FLIPPED)
def test_what_a_delay_makes_wrong_the_edge_at_every_occurrence_fixes(stage: Stage, opencl: OpenCL, mode: str) -> None:
    finding = race(stage, mode)
    edge = {"GPUDX_EDGE": every_edge(pair(finding).edge)}
    fixed = play(opencl, mode, "judged", **asked(finding, "hold"), **edge)
    assert (fixed.code, fixed.output) == (0, "right\n"), edge
    assert fixed.trace is not None
    done = 0
    for at, why in done_at(fixed.trace):
        assert not why
        done |= at
    assert done & (FIRST | SECOND) == FIRST | SECOND
    assert play(opencl, mode, "twin", **edge).output == "right\n"


def test_cuda_waits_for_the_last_work_of_each_other_stream(kit: Kit, tmp_path: Path) -> None:
    edge = "cuMemcpyHtoDAsync_v2:*>_Z3addPKfS0_Pfi:*"
    played, given = work(kit, tmp_path, "no-event", GPUDX_EDGE=edge)
    assert (played.code, played.output) == (0, "right\n")
    assert given[:4] == ["copy a", "event a", "wait b", "launch b"]


@pytest.mark.parametrize("wrong", ["add:*>add:2", "add:*", "add:*>", ":*>:*"])
def test_half_an_edge_is_refused(opencl: OpenCL, wrong: str) -> None:
    played = play(opencl, "two-queues", "twin", GPUDX_EDGE=wrong)
    assert played.output == "right\n" and played.trace is not None
    assert [why for _, why in done_at(played.trace)] == ["GPUDX_EDGE is not NAME:NUMBER>NAME:NUMBER"]


def test_in_words() -> None:
    assert every_edge("a:1>b:22") == "a:*>b:*"
    assert edge_words("a:*>b:*") == "each b waited for every earlier a, and each a for every earlier b"
    assert edge_words("a:*>a:*") == "each a waited for the earlier ones"
