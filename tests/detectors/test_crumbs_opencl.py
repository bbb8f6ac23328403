"""Breadcrumbs of OpenCL, on a real driver: which launches had ended, in queues that work in order and in those that do not."""

from __future__ import annotations

import pytest
from support.opencl import OpenCL, Recorded, in_flight

from gpudx.facts import derive
from gpudx.facts.crumbs import State
from gpudx.trace import Trace
from gpudx.trace.crumbs import read_crumbs

ALL = {"GPUDX_CRUMBS": "all"}
SPINNING = 7  # of 12 launches


def stuck(trace: Trace) -> bool:
    """All are launched, one of them does not end, and the program waits for it."""
    facts = derive(trace)
    launches = facts.launches.position
    return (
        len(launches) == 12
        and facts.crumbs.at(launches)[SPINNING - 1] == State.RUNNING
        and in_flight(trace, "clFinish")
    )


def states(run: Recorded) -> list[State]:
    return [State(s) for s in run.facts.crumbs.at(run.facts.launches.position)]


@pytest.mark.parametrize("words", [(), ("unordered",), ("events",)])
def test_all_launches_of_a_correct_program_ended(opencl: OpenCL, words: tuple[str, ...]) -> None:
    run = opencl.run("crumbed", "40", "0", *words, **ALL)
    plain = opencl.run("crumbed", "40", "0", *words, GPUDX_CRUMBS="off")
    assert run.output == plain.output, "also the reference counts of the program's own events"
    assert states(run) == [State.DONE] * 40 and not run.errors
    assert not read_crumbs(plain.traces[0]) and set(states(plain)) == {State.UNKNOWN}
    assert not run.facts.crumbs.why_not


def test_the_launch_that_does_not_end_is_named(opencl: OpenCL) -> None:
    run = opencl.run("crumbed", "12", str(SPINNING), until=stuck, **ALL)
    assert states(run)[:6] == [State.DONE] * 6 and states(run)[6] == State.RUNNING
    assert set(states(run)[7:]) == {State.WAITING}
    finding = run.only("hang")
    assert finding.site is not None and (finding.site.launch, finding.site.kernel) == (7, "spin")
    assert finding.message.startswith("Launch 7 of kernel spin") and "clFinish" in finding.message
    assert any("5 calls of the stream wait behind it" in e.text for e in finding.evidence)


@pytest.mark.pocl("Intel's driver ends the endless kernel of an unordered queue in some runs, also without gpudx")
def test_an_unordered_queue_says_only_what_it_knows(opencl: OpenCL) -> None:
    """Launches behind the one that does not end may have run or not: those that did are known."""
    run = opencl.run("crumbed", "12", str(SPINNING), "unordered", until=stuck, **ALL)
    found = states(run)
    assert found[6] == State.RUNNING and State.WAITING not in found
    finding = run.only("hang")
    assert "launch 7 of kernel spin" in " ".join(e.text for e in finding.evidence)


def test_the_default_skips_launches_of_a_fast_loop(opencl: OpenCL) -> None:
    run = opencl.run("crumbed", "3000", "0", GPUDX_CRUMBS="")
    flags = run.facts.trace.column("flags", run.facts.launches.position) & run.facts.trace.schema.flags["crumb"]
    assert 8 <= int((flags != 0).sum()) < 3000 and not run.findings
    (row,) = read_crumbs(run.traces[0])
    assert row.issued == row.cell
