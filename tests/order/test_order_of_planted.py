"""The facts under the detectors: the two operations of a planted bug have no order, those of its twin have one.

The CUDA programs run on the fake driver of tests/cuda, the OpenCL programs on a real one.
"""

from __future__ import annotations

import numpy as np
import pytest
from cases import CASES, Case
from order_kit import Played, Stage
from test_planted import expected

# Fixed by other means than an order of the two: memory of their own, or the host alone.
OTHERWISE = {"halves", "parts-overlap", "part-and-whole", "stack-gone", "one-stream", "one-queue", "stale-graph"}
OF_THE_HOST = {"plain-free", "pinned-source-freed", "pinned-target-freed"}  # the second call is not an operation
PAIRS = [case for case in CASES if case.mode not in OTHERWISE | OF_THE_HOST]
FREES = [case for case in CASES if case.mode in OF_THE_HOST]


def positions(case: Case, played: Played) -> list[int]:
    return [next(iter(places)) - 1 for places in expected(case, played)]


def ordered(case: Case, played: Played) -> bool:
    """Is there an order between the two operations, either way?"""
    happens = played.facts.happens
    first, second = happens.op_at(np.array(positions(case, played)))
    assert first >= 0 and second >= 0, "both are operations"
    return bool(happens.ordered(np.array([first, second]), np.array([second, first])).any())


@pytest.mark.parametrize("case", PAIRS, ids=lambda case: case.name)
def test_an_edge_is_what_bug_and_twin_differ_in(stage: Stage, case: Case) -> None:
    bug, twin = (stage(case.program, case.mode, which) for which in ("bug", "twin"))
    assert not ordered(case, bug), f"there is no order by {case.rule}"
    assert ordered(case, twin), f"ordered by {case.repair}"


@pytest.mark.parametrize("case", FREES, ids=lambda case: case.name)
def test_a_wait_of_the_host_is_what_bug_and_twin_differ_in(stage: Stage, case: Case) -> None:
    for which in ("bug", "twin"):
        played = stage(case.program, case.mode, which)
        work, free = positions(case, played)
        done = played.facts.happens.done_before_host(played.facts.happens.op_at(np.array([work])), np.array([free]))
        assert bool(done[0]) == (which == "twin"), which
