"""Crumbs behind CUDA work. The driver is a fake (fake_cuda.c, fake_crumbs.c): this says that crumbs stand where they should and are
read right, never that a GPU wrote one."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from cuda_kit import OURS, Kit, Ran, decode, of
from support import forked
from support.own import PYTHONPATH

from gpudx import casefile
from gpudx.facts import Facts, derive
from gpudx.facts.crumbs import State
from gpudx.model import Case
from gpudx.trace import open_case
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
    """The fake launches far faster than the budget: after the 1,024 that are paid for in advance most launches have none."""
    _, facts = run(kit, "1", "4000", crumbs="")
    flags = facts.trace.column("flags", facts.launches.position) & facts.trace.schema.flags["crumb"]
    marked = int((flags != 0).sum())
    assert flags[:1000].all() and 1000 <= marked < 3000, marked
    assert states(facts)[: int(np.flatnonzero(flags)[-1]) + 1] == [State.DONE] * (int(np.flatnonzero(flags)[-1]) + 1)


def test_skipped_crumbs_leave_an_interval_with_the_guilty_launch_in_it(kit: Kit) -> None:
    _, facts = run(kit, "1", "12000", crumbs="", FAKE_CUDA_WRITES="1024")
    flags = facts.trace.column("flags", facts.launches.position) & facts.trace.schema.flags["crumb"]
    marked = np.flatnonzero(flags)
    (front,) = facts.crumbs.fronts
    expected = facts.launches.position[marked[1023] + 1 : marked[1024] + 1]
    assert front.running == tuple(map(int, expected)) and front.skipped == (len(expected) > 1)
    assert len(front.waiting) == len(flags) - 1 - marked[1024]


def test_off_means_off(kit: Kit) -> None:
    _, facts = run(kit, "2", "10", crumbs="off")
    assert not read_crumbs(facts.trace) and set(states(facts)) == {State.UNKNOWN} and not why_not(facts)


@pytest.mark.parametrize(
    ("env", "word"),
    [({"FAKE_CUDA_REGISTER": "-1"}, "cuMemHostRegister"), ({"FAKE_CUDA_NO_WRITES": "1"}, "cuStreamWriteValue32")],
)
def test_a_driver_that_refuses_turns_crumbs_off_and_the_trace_says_why(
    kit: Kit, env: dict[str, str], word: str
) -> None:
    _, facts = run(kit, "2", "10", **env)
    assert len(why_not(facts)) == 1 and word in why_not(facts)[0]
    assert State.DONE not in states(facts) and not any(facts.errors.position)


@pytest.mark.parametrize("refused", ["1", "2"])
def test_cells_outside_the_trace_are_copied_to_it(kit: Kit, refused: str) -> None:
    """As on a disk whose files a driver does not take: first the trace is refused, then /dev/shm too."""
    _, facts = run(
        kit, "2", "30", FAKE_CUDA_FAIL="cuLaunchKernel:20:700", FAKE_CUDA_WRITES="5", FAKE_CUDA_REGISTER=refused
    )
    found = states(facts)
    assert found[:5] == [State.DONE] * 5 and found[5:7] == [State.RUNNING] * 2


def test_a_context_that_is_made_again_starts_anew(kit: Kit) -> None:
    _, facts = run(kit, "1", "10", "again", FAKE_CUDA_WRITES="4")
    found = states(facts)
    assert found[:4] == [State.DONE] * 4 and found[4] == State.RUNNING and set(found[5:]) == {State.WAITING}


def test_a_green_context_that_is_made_again_starts_anew(kit: Kit) -> None:
    """It has the address of the one before, whose memory for crumbs went with it."""
    _, facts = run(kit, "1", "10", "green", FAKE_CUDA_WRITES="4")
    rows = read_crumbs(facts.trace)
    assert [(row.issued, row.cell) for row in rows] == [(1, 1), (10, 3)]
    found = states(facts)
    assert found[:4] == [State.DONE] * 4 and found[4] == State.RUNNING and set(found[5:]) == {State.WAITING}


def test_hundreds_of_short_lived_streams(kit: Kit) -> None:
    _, facts = run(kit, "4", "12", "many")
    assert states(facts)[-12:] == [State.DONE] * 12 and not facts.crumbs.fronts


def test_a_killed_process_leaves_its_crumbs(kit: Kit) -> None:
    """Crumbs in the trace itself need nobody to copy them."""
    _, facts = run(kit, "1", "12", FAKE_CUDA_CRASH="cuCtxSynchronize:1", FAKE_CUDA_WRITES="3")
    assert states(facts)[:4] == [State.DONE] * 3 + [State.RUNNING]


# ---- what users read ----


def gpudx(kit: Kit, *words: str | Path, **env: str) -> subprocess.CompletedProcess[str]:
    return forked.gpudx(*words, env=environment(kit, **env))


def environment(kit: Kit, **env: str) -> dict[str, str]:
    plain = {name: value for name, value in os.environ.items() if name not in OURS}
    ours = {"PYTHONPATH": PYTHONPATH, "GPUDX_LIB": str(kit.recorder), "LD_LIBRARY_PATH": str(kit.driver)}
    return {**plain, **ours, **env}


def test_one_suspect_is_the_guilty_launch(kit: Kit, tmp_path: Path) -> None:
    done = gpudx(
        kit, "run", "--crumbs=all", "--case", tmp_path / "case", "--", kit.program("crumbs"), "2", "40",
        FAKE_CUDA_FAIL="cuLaunchKernel:6:700", FAKE_CUDA_WRITES="5",
    )  # fmt: skip
    case = casefile.read(tmp_path / "case")
    entry = case.diagnosis[0]
    assert done.returncode == 1 and entry.status == "likely" and entry.guilty, done.stderr  # the launch; the status is no cause
    assert entry.guilty.launch == 6 and entry.guilty.kernel == "pair"
    assert any("5 of" in e.text and "launches had completed when the device stopped" in e.text for e in entry.evidence)


def test_of_streams_that_stood_still_at_once_no_launch_is_named(kit: Kit, tmp_path: Path) -> None:
    gpudx(
        kit, "run", "--crumbs=all", "--case", tmp_path / "case", "--", kit.program("crumbs"), "2", "40",
        FAKE_CUDA_FAIL="cuLaunchKernel:20:700", FAKE_CUDA_WRITES="5",
    )  # fmt: skip
    case = casefile.read(tmp_path / "case")
    (found,) = [f for f in case.findings if f.id == "device-error-reported"]
    assert [s.launch or 0 for s in found.others] == [6, 7]
    entry = case.diagnosis[0]
    assert entry.status == "inconclusive" and entry.guilty is None  # the oldest is often the wrong one


def test_a_graph_that_faults_is_named(kit: Kit, tmp_path: Path) -> None:
    """Work 5 is a graph of three kernels."""
    gpudx(
        kit, "run", "--crumbs=all", "--case", tmp_path / "case", "--", kit.program("crumbs"), "2", "9", "graph",
        FAKE_CUDA_FAIL="cuGraphLaunch:1:700", FAKE_CUDA_WRITES="4",
    )  # fmt: skip
    entry = casefile.read(tmp_path / "case").diagnosis[0]
    assert entry.status == "likely" and entry.guilty and entry.guilty.call == "cuGraphLaunch", entry.summary
    assert entry.summary.startswith("The graph launched by cuGraphLaunch")


def test_launches_between_two_crumbs_are_not_told_apart(kit: Kit, tmp_path: Path) -> None:
    gpudx(
        kit, "run", "--case", tmp_path / "case", "--", kit.program("crumbs"), "1", "12000",
        FAKE_CUDA_FAIL="cuLaunchKernel:11900:700", FAKE_CUDA_WRITES="1024",
    )  # fmt: skip
    case = casefile.read(tmp_path / "case")
    (found,) = [f for f in case.findings if f.id == "device-error-reported"]
    interval = found.symptom and found.symptom.interval
    assert interval and (interval.completed or 0) >= 1024
    if interval.launches == 1:  # a machine so busy that each launch took longer than the interval of crumbs: then they do tell them apart
        assert case.diagnosis[0].guilty is not None
        return
    assert case.diagnosis[0].status == "inconclusive" and case.diagnosis[0].guilty is None
    assert any("--crumbs=all" in e.text for e in found.evidence)


def test_a_hang_names_the_launch_and_what_waits_behind_it(kit: Kit, tmp_path: Path) -> None:
    done = gpudx(
        kit, "run", "--timeout", "2", "--crumbs=all", "--case", tmp_path / "case", "--",
        kit.program("crumbs"), "3", "30", "wait=2", FAKE_CUDA_STUCK="2",
    )  # fmt: skip
    case = casefile.read(tmp_path / "case")
    entry = case.diagnosis[0]
    assert done.returncode == 124 and entry.cause == "hang" and entry.status == "likely", done.stderr
    assert entry.guilty is not None and (entry.guilty.launch, entry.guilty.kernel) == (2, "pair")
    assert "cuStreamSynchronize" in entry.summary and "Launch 2 of kernel pair" in entry.summary
    text = " ".join(e.text for e in entry.evidence)
    assert "9 calls of the stream wait behind it" in text and "grid 1 x 1 x 1" in text and "argument 0 = 1" in text


def test_a_hang_is_named_by_default_too(kit: Kit, tmp_path: Path) -> None:
    """Most launches have no crumb: of the stream that stands it is known, of the other nothing is claimed."""
    gpudx(
        kit, "run", "--timeout", "2", "--case", tmp_path / "case", "--", kit.program("crumbs"), "2", "400", "wait=2",
        FAKE_CUDA_STUCK="2",
    )  # fmt: skip
    entry = casefile.read(tmp_path / "case").diagnosis[0]
    assert entry.cause == "hang" and entry.status == "likely" and entry.guilty and entry.guilty.launch == 2, (
        entry.summary
    )


def test_a_program_that_only_takes_long_is_not_called_a_hang(kit: Kit, tmp_path: Path) -> None:
    """All that was launched is done: it is the host that takes its time."""
    done = gpudx(kit, "run", "--timeout", "1", "--crumbs=all", "--case", tmp_path / "case", "--", "/bin/sh", "-c",
                 f"{kit.program('crumbs')} 2 20; exec sleep 60")  # fmt: skip
    case = casefile.read(tmp_path / "case")
    assert done.returncode == 124 and not any(f.symptom and f.symptom.named for f in case.findings)


def wait_until(ready: Callable[[], str], seconds: float = 90) -> str:
    """What `ready` gives, once it gives something."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if found := ready():
            return found
        time.sleep(0.2)
    raise AssertionError("it did not come")


def test_the_watchdog_speaks_once_and_attach_shows_what_is_in_flight(kit: Kit, tmp_path: Path) -> None:
    program = [str(kit.program("crumbs")), "3", "30", "wait=2"]
    command = [sys.executable, "-m", "gpudx", "run", "--stall", "1", "--case", str(tmp_path / "case"), "--", *program]
    env = environment(kit, FAKE_CUDA_STUCK="2", GPUDX_CRUMBS="all")
    with (tmp_path / "said").open("w") as said_to, subprocess.Popen(command, env=env, stderr=said_to) as running:
        try:
            wait_until(lambda: (tmp_path / "said").read_text())
            (pid,) = [int(path.name.split("-")[0]) for path in (tmp_path / "case/traces").glob("*.gdx")]
            shown, dumped = gpudx(kit, "attach", str(pid)), json.loads(gpudx(kit, "dump", str(pid)).stdout)
            assert running.poll() is None, "nothing was stopped"
        finally:
            running.send_signal(signal.SIGTERM)
            running.wait(60)
    said = (tmp_path / "said").read_text()
    assert said.count("no progress for 1 s") == 1 and "Launch 2 of kernel pair" in said, said
    assert "launch 2 of kernel pair" in shown.stdout and "cuStreamSynchronize" in shown.stdout, (
        shown.stdout + shown.stderr
    )
    assert [one["running"][0].split(" (")[0] for one in dumped["streams"]] == ["launch 2 of kernel pair"]
    case = casefile.read(tmp_path / "case")
    assert case.diagnosis[0].cause == "hang" and case.diagnosis[0].guilty and case.diagnosis[0].guilty.launch == 2


@pytest.mark.parametrize("own", [False, True])
def test_attach_to_what_is_not_recorded(kit: Kit, own: bool) -> None:
    done = gpudx(kit, "attach", str(os.getpid()) if own else "999999999")
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1 and "Traceback" not in done.stderr


def test_fenced_runs_mark_every_launch(kit: Kit, tmp_path: Path) -> None:
    gpudx(kit, "run", "--fence", "--case", tmp_path / "case", "--", kit.program("crumbs"), "1", "400")
    (trace,) = open_case(tmp_path / "case")
    facts = derive(trace)
    flags = trace.column("flags", facts.launches.position) & trace.schema.flags["crumb"]
    assert len(flags) == 400 and flags.all()


def test_an_investigation_of_a_hang_ends_with_a_verdict(kit: Kit, tmp_path: Path) -> None:
    """Without --timeout only the budget ends the first run; what it was doing is told all the same."""
    words = [
        "investigate",
        "--budget",
        "6s",
        "--case",
        tmp_path / "case",
        "--",
        kit.program("crumbs"),
        "2",
        "20",
        "wait=2",
    ]
    done = gpudx(kit, *words, FAKE_CUDA_STUCK="2")
    case = casefile.read(tmp_path / "case")
    assert done.returncode == 1 and "Launch 2 of kernel pair" in done.stdout, done.stderr
    assert case.diagnosis[0].cause == "hang" and case.outcome.kind == "timeout"


def investigated(kit: Kit, case: Path, *program: str, seconds: float, **env: str) -> Case:
    """With instruments that need no GPU."""
    left_out = ("dump", "memcheck", "racecheck", "initcheck", "synccheck", "runtime-errors", "fenced", "low-fenced", "close-fenced")
    words = ["investigate", "--budget", f"{seconds:.0f}s", "--case", case, *(word for name in left_out for word in ("--without", name))]
    gpudx(kit, *words, "--", *program, GPUDX_CRUMBS="all", **env)
    return casefile.read(case)


def test_a_run_that_stands_still_is_stopped_early_and_given_more_time_once(kit: Kit, tmp_path: Path) -> None:
    case = investigated(kit, tmp_path / "case", str(kit.program("crumbs")), "2", "20", "wait=2", seconds=40, FAKE_CUDA_STUCK="2")
    assert case.investigation is not None and case.diagnosis[0].cause == "hang"
    first, second = (trial for trial in case.investigation.trials if trial.experiment == "recorded")
    assert first.seconds < 10 < second.seconds and first.ending == second.ending == "timeout"
    assert any("did not end within 1" in one.text for one in case.diagnosis[0].evidence)


def test_a_program_that_is_only_slow_is_not_called_a_hang(kit: Kit, tmp_path: Path) -> None:
    slow = {"FAKE_CUDA_STUCK": "2", "FAKE_CUDA_STUCK_S": "7"}
    case = investigated(kit, tmp_path / "case", str(kit.program("crumbs")), "2", "20", "wait=2", seconds=40, **slow)
    assert case.investigation is not None and [one.cause for one in case.diagnosis] == []
    assert case.investigation.failure is None


def test_a_host_that_works_is_not_stopped(kit: Kit, tmp_path: Path) -> None:
    """Nothing moves on the device, and nobody waits for it."""
    program = f"{kit.program('crumbs')} 2 20 && sleep 6"
    case = investigated(kit, tmp_path / "case", "/bin/sh", "-c", program, seconds=40)
    assert case.investigation is not None and case.investigation.trials[0].ending == "passed"


def test_crumbs_of_a_killed_process_are_taken_from_shared_memory(kit: Kit, tmp_path: Path) -> None:
    """As on a disk whose files the driver does not take: `gpudx run` copies the cells, and leaves nothing behind."""
    before = set(Path("/dev/shm").glob("gpudx-*"))
    program = f"{kit.program('crumbs')} 2 20 & p=$!; sleep 3; kill -9 $p; wait $p"
    env = {"FAKE_CUDA_REGISTER": "1", "FAKE_CUDA_WRITES": "5", "FAKE_CUDA_STUCK": "2", "GPUDX_CRUMBS": "all"}
    gpudx(
        kit, "run", "--case", tmp_path / "case", "--", "/bin/sh", "-c", program.replace(" 2 20", " 2 20 wait=2"), **env
    )
    (trace,) = open_case(tmp_path / "case")
    facts = derive(trace)
    assert State.DONE in states(facts) and State.RUNNING in states(facts)
    assert set(Path("/dev/shm").glob("gpudx-*")) == before
