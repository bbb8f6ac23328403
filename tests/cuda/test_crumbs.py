"""Crumbs behind CUDA work. The driver is a fake (fake_cuda.c, fake_crumbs.c): this says that crumbs stand where they should and are
read right, never that a GPU wrote one."""

from __future__ import annotations

import numpy as np
import pytest
from cuda_kit import Kit, Ran, decode, of

from gpudx.facts import Facts, derive
from gpudx.facts.crumbs import State
from gpudx.trace.crumbs import read_crumbs

LAUNCHES = ("cuLaunchKernel", "cuGraphLaunch")


def run(kit: Kit, *words: str, crumbs: str = "all", **env: str) -> tuple[Ran, Facts]:
    """A run of programs/crumbs.c that is the same with and without the recorder."""
    plain, recorded = kit.both([kit.program("crumbs"), *words], {"GPUDX_CRUMBS": crumbs, **env})
    assert recorded.seen == plain.seen
    return recorded, derive(recorded.trace())


def states(facts: Facts) -> list[State]:
    return [State(s) for s in facts.crumbs.at(facts.launches.position[~facts.launches.captured])]


def why_not(facts: Facts) -> tuple[str, ...]:
    return facts.crumbs.why_not


def test_every_launch_has_a_crumb_and_all_were_reached(kit: Kit) -> None:
    ran, facts = run(kit, "3", "30")
    calls = decode(ran.trace())
    flag = facts.trace.schema.flags["crumb"]
    assert all(c.flags & flag for c in of(calls, "cuLaunchKernel"))
    rows = read_crumbs(facts.trace)
    assert [(r.issued, r.cell, r.behind) for r in rows] == [(10, 10, 0)] * 3
    assert states(facts) == [State.DONE] * 30 and not facts.crumbs.fronts and not why_not(facts)
    assert not any(c.name == "cuStreamWriteValue32_v2" for c in calls), "crumbs are no calls of the program"


@pytest.mark.parametrize("stop", [0, 1, 7, 19])
def test_the_device_stops_at_one_launch(kit: Kit, stop: int) -> None:
    env = {"FAKE_CUDA_FAIL": "cuLaunchKernel:20:700", "FAKE_CUDA_WRITES": str(stop) if stop else "-1"}
    _, facts = run(kit, "1", "25", **env)
    found = states(facts)
    assert found[:stop] == [State.DONE] * stop and found[stop] == State.RUNNING
    assert set(found[stop + 1 : 20]) <= {State.WAITING}
    assert len(facts.crumbs.fronts) == 1
    assert facts.crumbs.fronts[0].running == (int(facts.launches.position[stop]),)


def test_each_stream_has_its_own_front(kit: Kit) -> None:
    _, facts = run(kit, "4", "24", FAKE_CUDA_FAIL="cuLaunchKernel:24:700", FAKE_CUDA_WRITES="9")
    found = np.array(states(facts))
    assert (found[:9] == State.DONE).all()
    assert (found[9:13] == State.RUNNING).all() and (found[13:24] == State.WAITING).all()
    assert [f.running[0] for f in facts.crumbs.fronts] == sorted(int(p) for p in facts.launches.position[9:13])


def test_graphs_get_one_crumb_and_captured_launches_none(kit: Kit) -> None:
    _, facts = run(kit, "2", "20", "graph", FAKE_CUDA_WRITES="6")
    flag = facts.trace.schema.flags["crumb"]
    captured = facts.launches.position[facts.launches.captured]
    assert len(captured) == 3 and not (facts.trace.column("flags", captured) & flag).any()
    graphs = facts.graphs.position
    assert len(graphs) == 4 and (facts.trace.column("flags", graphs) & flag).all()
    work = facts.crumbs.work
    assert (facts.crumbs.at(work[:6]) == State.DONE).all() and (facts.crumbs.at(work[6:8]) == State.RUNNING).all()


def test_the_default_skips_crumbs_and_says_so(kit: Kit) -> None:
    """The fake launches far faster than a budget of 30 us: after the burst most launches have none."""
    _, facts = run(kit, "1", "2000", crumbs="")
    flags = facts.trace.column("flags", facts.launches.position) & facts.trace.schema.flags["crumb"]
    marked = int((flags != 0).sum())
    assert flags[:8].all() and 8 <= marked < 1000, marked
    assert states(facts)[: int(np.flatnonzero(flags)[-1]) + 1] == [State.DONE] * (int(np.flatnonzero(flags)[-1]) + 1)


def test_skipped_crumbs_leave_an_interval_with_the_guilty_launch_in_it(kit: Kit) -> None:
    _, facts = run(kit, "1", "2000", crumbs="", FAKE_CUDA_WRITES="9")
    flags = facts.trace.column("flags", facts.launches.position) & facts.trace.schema.flags["crumb"]
    marked = np.flatnonzero(flags)
    (front,) = facts.crumbs.fronts
    expected = facts.launches.position[marked[8] + 1 : marked[9] + 1]
    assert front.running == tuple(map(int, expected)) and front.skipped == (len(expected) > 1)
    assert len(front.waiting) == len(flags) - 1 - marked[9]


def test_off_means_off(kit: Kit) -> None:
    _, facts = run(kit, "2", "10", crumbs="off")
    assert not read_crumbs(facts.trace) and set(states(facts)) == {State.UNKNOWN} and not why_not(facts)


@pytest.mark.parametrize(
    ("env", "word"),
    [({"FAKE_CUDA_REGISTER": "-1"}, "cuMemHostRegister"), ({"FAKE_CUDA_NO_WRITES": "1"}, "cuStreamWriteValue32")],
)
def test_a_driver_that_refuses_turns_crumbs_off_and_the_trace_says_why(kit: Kit, env: dict[str, str], word: str) -> None:
    _, facts = run(kit, "2", "10", **env)
    assert len(why_not(facts)) == 1 and word in why_not(facts)[0]
    assert State.DONE not in states(facts) and not any(facts.errors.position)


@pytest.mark.parametrize("refused", ["1", "2"])
def test_cells_outside_the_trace_are_copied_to_it(kit: Kit, refused: str) -> None:
    """As on a disk whose files a driver does not take: first the trace is refused, then /dev/shm too."""
    _, facts = run(kit, "2", "30", FAKE_CUDA_FAIL="cuLaunchKernel:20:700", FAKE_CUDA_WRITES="5", FAKE_CUDA_REGISTER=refused)
    found = states(facts)
    assert found[:5] == [State.DONE] * 5 and found[5:7] == [State.RUNNING] * 2


def test_a_context_that_is_made_again_starts_anew(kit: Kit) -> None:
    _, facts = run(kit, "1", "10", "again", FAKE_CUDA_WRITES="4")
    found = states(facts)
    assert found[:4] == [State.DONE] * 4 and found[4] == State.RUNNING and set(found[5:]) == {State.WAITING}


def test_hundreds_of_short_lived_streams(kit: Kit) -> None:
    _, facts = run(kit, "4", "12", "many")
    assert states(facts)[-12:] == [State.DONE] * 12 and not facts.crumbs.fronts


def test_a_killed_process_leaves_its_crumbs(kit: Kit) -> None:
    """Crumbs in the trace itself need nobody to copy them."""
    _, facts = run(kit, "1", "12", FAKE_CUDA_CRASH="cuCtxSynchronize:1", FAKE_CUDA_WRITES="3")
    assert states(facts)[:4] == [State.DONE] * 3 + [State.RUNNING]
