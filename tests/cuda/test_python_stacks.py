"""Stacks of launches in real Python programs, through ctypes and the fake driver: with the interpreter's lock, without it,
and from places where it must not be asked for."""

from __future__ import annotations

import signal
import sys
from collections import Counter
from pathlib import Path

import pytest
from cuda_kit import PROGRAMS, Kit, Ran

from gpudx.facts import Facts, derive
from gpudx.facts.stacks import PythonFrame, Stack
from gpudx.trace import Trace

ON = {"GPUDX_STACKS": "1"}
NONE, TAKEN, BUSY = 0, 1, 2  # native/core/python.h
LAUNCHES = PROGRAMS / "launches.py"
TANGLED = PROGRAMS / "tangled.py"


def line_of(text: str, source: Path = LAUNCHES) -> int:
    """The number of the only line that has this text."""
    (found,) = [i for i, line in enumerate(source.read_text().splitlines(), 1) if text in line]
    return found


def launches(facts: Facts) -> list[Stack | None]:
    return [facts.stacks.at(int(position)) for position in facts.launches.position]


def answers(trace: Trace) -> Counter[int]:
    note = trace.schema.by_name("note_stack")
    assert note
    return Counter(trace.field(note, "python", trace.select(note)).tolist())


@pytest.fixture(scope="session")
def library(kit: Kit) -> Path:
    return kit.library(PROGRAMS / "tangled.c", "libtangled.so")


def tangled(kit: Kit, library: Path, what: str) -> Ran:
    """The same output and status with and without stacks."""
    plain = kit.run([sys.executable, TANGLED, library, what], False)
    recorded = kit.run([sys.executable, TANGLED, library, what], True, ON)
    assert recorded.seen == plain.seen
    assert plain.returncode == 0, plain.stderr
    return recorded


@pytest.mark.parametrize("way", ["held", "free"])
def test_python_frames_with_and_without_the_lock(kit: Kit, way: str) -> None:
    """The driver is called with the interpreter's lock (PyDLL) or without (CDLL)."""
    command = [sys.executable, LAUNCHES, way]
    plain, recorded = kit.run(command, False), kit.run(command, True, ON)
    assert recorded.seen == plain.seen == (0, "done\n", "")
    facts = derive(recorded.trace())
    at, above = line_of("# launch line"), line_of("# own line")
    for stack in launches(facts):
        assert stack
        assert stack.python[:2] == (PythonFrame(str(LAUNCHES), at, "launch"), PythonFrame(str(LAUNCHES), above, "step"))
        assert stack.python[-1].function == "<module>"
    site = facts.sites.at(int(facts.launches.position[-1]))
    assert site.source == f"{LAUNCHES}:{at}"
    assert site.host_stack[:2] == (f"launches.py:{at} in launch (python)", f"launches.py:{above} in step (python)")
    assert any("ctypes" in line for line in site.host_stack)


def test_threads_with_and_without_the_lock(kit: Kit) -> None:
    command = [sys.executable, LAUNCHES, "both", "50"]
    plain, recorded = kit.run(command, False), kit.run(command, True, ON)
    assert recorded.seen == plain.seen
    facts = derive(recorded.trace())
    assert len(facts.launches) == 100 and len(set(facts.launches.tid.tolist())) == 2
    assert answers(facts.trace) == {TAKEN: 100}
    assert {stack.python[1].function for stack in launches(facts) if stack} == {"step"}


def test_python_is_not_asked_unless_asked_for(kit: Kit) -> None:
    facts = derive(kit.run([sys.executable, LAUNCHES, "held"]).trace())
    assert all(stack and stack.addresses and not stack.python for stack in launches(facts))
    assert set(answers(facts.trace)) == {NONE}


def test_a_lock_that_the_interpreter_waits_for(kit: Kit, library: Path) -> None:
    """Whoever has the interpreter's lock waits for the launching thread: to wait for it would be for ever."""
    assert answers(tangled(kit, library, "lock").trace()) == {BUSY: 1, TAKEN: 1}


def test_an_exception_that_is_set_stays_set(kit: Kit, library: Path) -> None:
    ran = tangled(kit, library, "exception")
    assert ran.stdout == "('kept',) True None\n"
    assert answers(ran.trace()) == {TAKEN: 1}


@pytest.mark.parametrize("what", ["handler", "thread"])
def test_where_python_is_not_asked(kit: Kit, library: Path, what: str) -> None:
    assert answers(tangled(kit, library, what).trace()) == {NONE: 1}


def test_errno_is_kept(kit: Kit, library: Path) -> None:
    assert tangled(kit, library, "errno").stdout == "0 0\n"


def test_no_collection_in_a_launch(kit: Kit, library: Path) -> None:
    assert tangled(kit, library, "collector").stdout == "0 0\nFalse True\n0 0\nFalse\n"


def test_only_so_many_frames(kit: Kit, library: Path) -> None:
    facts = derive(tangled(kit, library, "deep").trace())
    assert [len(stack.python) for stack in launches(facts) if stack] == [32, 32]


def test_launches_while_the_interpreter_ends(kit: Kit, library: Path) -> None:
    for _ in range(5):
        trace = tangled(kit, library, "end").trace()
        assert answers(trace)[NONE] >= 2  # those made while modules are taken down


def test_a_forked_child(kit: Kit, library: Path) -> None:
    if sys.version_info >= (3, 12):
        pytest.skip("this Python warns of a fork in a process with threads, and the helper is the only one here")
    parent, child = tangled(kit, library, "fork").traces()
    assert answers(parent) == {TAKEN: 1}
    assert answers(child) == {TAKEN: 2}


def test_a_crash_inside_the_launch_shows_python_and_the_driver(kit: Kit) -> None:
    ran = kit.run([sys.executable, LAUNCHES, "free"], True, {**ON, "FAKE_CUDA_CRASH": "cuLaunchKernel:2"})
    assert ran.returncode == -signal.SIGSEGV
    facts = derive(ran.trace())
    site = facts.sites.at(int(facts.launches.position[-1]))
    assert site.status == "in flight"
    assert site.host_stack[0] == f"launches.py:{line_of('# launch line')} in launch (python)"
    assert any("state.c" in line for line in site.host_stack)


def test_every_kind_of_launch_has_a_stack_of_its_own(kit: Kit) -> None:
    plain, recorded = kit.run([kit.program("tour")], False, ON), kit.run([kit.program("tour")], True, ON)
    assert recorded.seen == plain.seen
    facts = derive(recorded.trace())
    graphs = facts.trace.select(facts.trace.schema.doing("launch_graph"))
    assert len(graphs)
    names = set()
    for position in [*facts.launches.position.tolist(), *graphs.tolist()]:
        site = facts.sites.at(position)
        names.add(site.call)
        assert site.host_stack and "tour.c:" in site.host_stack[0]
    assert {"cuLaunchKernel", "cuLaunchKernelEx", "cuLaunchCooperativeKernel", "cuGraphLaunch"} <= names


def test_a_launch_that_fails_has_one_stack(kit: Kit) -> None:
    ran = kit.run([sys.executable, LAUNCHES, "held"], True, {**ON, "FAKE_CUDA_REFUSE": "cuLaunchKernel:2:701"})
    facts = derive(ran.trace())
    assert answers(facts.trace) == {TAKEN: 3}
    (failed,) = facts.errors.position.tolist()
    assert facts.sites.at(failed).source == f"{LAUNCHES}:{line_of('# launch line')}"
