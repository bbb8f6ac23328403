"""Stacks of launches: of C programs, and of a fake Python interpreter that checks how it is asked."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from native_kit import SANITIZERS, Kit, Ran

from gpudx.facts import derive
from gpudx.facts.stacks import PythonFrame, Stack
from gpudx.trace import Trace

ON = {"GPUDX_STACKS": "1", "TSAN_OPTIONS": "die_after_fork=0"}  # a child may have threads of its own
NONE, TAKEN, BUSY = 0, 1, 2  # native/core/python.h
STEP = tuple(PythonFrame("/home/user/train.py", line, "step") for line in (10, 11, 12))


@pytest.fixture(scope="session", params=list(SANITIZERS))
def python(kit: Kit, request: pytest.FixtureRequest) -> Path:
    """The fake interpreter, as it is and with each sanitizer. The recorder finds its functions by name (-rdynamic)."""
    return kit.linked("fake_python", request.param, "-rdynamic")


def ask(kit: Kit, python: Path, mode: str, env: dict[str, str] = ON) -> Ran:
    ran = kit.run([python, mode], "linked", env=env, timeout=120)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "right\n", "")
    return ran


def stacks(trace: Trace) -> list[Stack | None]:
    facts = derive(trace)
    return [facts.stacks.at(int(position)) for position in facts.launches.position]


def answers(trace: Trace) -> Counter[int]:
    note = trace.schema.by_name("note_stack")
    assert note
    return Counter(trace.field(note, "python", trace.select(note)).tolist())


@pytest.mark.parametrize("mode", ["held", "free"])
def test_python_frames_with_and_without_the_lock(kit: Kit, python: Path, mode: str) -> None:
    found = stacks(ask(kit, python, mode).trace())
    assert len(found) == 200
    assert all(stack and stack.python == STEP and len(stack.addresses) >= 2 for stack in found)


def test_threads_at_the_same_time(kit: Kit, python: Path) -> None:
    trace = ask(kit, python, "mixed").trace()
    assert answers(trace) == {TAKEN: 800}
    assert all(stack and stack.python == STEP for stack in stacks(trace))


def test_a_lock_that_somebody_keeps_is_not_waited_for(kit: Kit, python: Path) -> None:
    """One launch waits a quarter of a second. The others see that the helper still waits, and ask nobody."""
    begin = time.monotonic()
    trace = ask(kit, python, "stuck").trace()
    assert time.monotonic() - begin < 20
    assert answers(trace) == {BUSY: 200, TAKEN: 200}
    assert [stack.python_busy for stack in stacks(trace) if stack] == [True] * 200 + [False] * 200


def test_a_lock_that_is_never_to_be_had_is_given_up(kit: Kit, python: Path) -> None:
    assert answers(ask(kit, python, "deaf").trace()) == {BUSY: 5}


def test_an_interpreter_that_ends_is_left_alone(kit: Kit, python: Path) -> None:
    assert answers(ask(kit, python, "ending").trace()) == {NONE: 600}


def test_a_forked_child_has_its_own_helper(kit: Kit, python: Path) -> None:
    parent, child = ask(kit, python, "fork").traces()
    assert answers(parent) == {TAKEN: 200}
    assert answers(child) == {TAKEN: 400}


def test_odd_names_and_deep_stacks(kit: Kit, python: Path) -> None:
    long, broken = stacks(ask(kit, python, "odd").trace())
    assert long and broken
    assert len(long.python) == 6  # what fits
    assert {(len(f.file), f.file[-1], len(f.function)) for f in long.python} == {(1024, "!", 256)}
    assert broken.python[0] == PythonFrame("?", 0, "?")
    assert len(broken.python) == 32


def test_a_signal_handler_asks_nothing_of_python(kit: Kit, python: Path) -> None:
    trace = ask(kit, python, "handler").trace()
    assert answers(trace) == {TAKEN: 1, NONE: 1}
    _, in_handler = stacks(trace)
    assert in_handler and in_handler.addresses and not in_handler.python


def test_python_is_not_asked_unless_asked_for(kit: Kit, python: Path) -> None:
    trace = ask(kit, python, "held", {}).trace()
    assert all(stack and not stack.python and len(stack.addresses) >= 2 for stack in stacks(trace))
    assert answers(trace) == {NONE: 200}


def test_no_stack_at_all(kit: Kit, python: Path) -> None:
    trace = ask(kit, python, "held", {"GPUDX_STACKS": "0"}).trace()
    assert stacks(trace) == [None] * 200 and not answers(trace)


def test_the_first_of_each_thread_and_then_one_now_and_then(kit: Kit, python: Path) -> None:
    trace = ask(kit, python, "ending", {}).trace()
    facts = derive(trace)
    found = stacks(trace)
    for thread in np.unique(facts.launches.tid):
        mine = [stack for stack, tid in zip(found, facts.launches.tid, strict=True) if tid == thread]
        assert all(mine[:256])
    assert 256 <= answers(trace)[NONE] < 600


def test_a_stack_does_not_change_the_numbers_of_calls(kit: Kit, python: Path) -> None:
    many, none = (ask(kit, python, "held", env).trace() for env in ({}, {"GPUDX_STACKS": "0"}))
    assert len(many) == len(none) and derive(many).launches.position.tolist() == derive(none).launches.position.tolist()


def test_a_c_program_shows_its_lines(kit: Kit) -> None:
    program = kit.program("launches")
    plain, recorded = kit.run([program], "plain", env=ON), kit.run([program], "symbols", env=ON)
    assert recorded.seen == plain.seen
    facts = derive(recorded.trace())
    for position in facts.launches.position[[0, -1]]:
        site = facts.sites.at(int(position))
        assert site.host_stack == ("main at launches.c:25 (launches)",)
        assert site.source and site.source.endswith("launches.c:25")


def test_one_stack_for_a_launch_that_fails(kit: Kit) -> None:
    ran = kit.run([kit.program("refused")], "symbols", env=ON)
    trace = ran.trace()
    facts = derive(trace)
    note = trace.schema.by_name("note_stack")
    assert note
    of = trace.field(note, "of", trace.select(note))
    assert len(of) == len(np.unique(of))
    assert all(facts.stacks.at(int(p)) for p in facts.launches.position)
