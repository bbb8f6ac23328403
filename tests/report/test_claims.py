"""Every sentence is derived: reports of generated processes are read back, and what they claim is looked up in the record.

Processes are drawn by lot: buffers that are made, copied, released, used after that; launches with right and wrong arguments; calls
that fail; calls that never return; and every way to end. The claims are found in the text as a reader finds them.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.simulated import times
from support.synthetic import GLOBAL, Arg, World

from gpudx.causes import every as every_cause
from gpudx.diagnose import diagnose
from gpudx.diagnose.entries import unexplained
from gpudx.diagnose.findings import find
from gpudx.facts import Facts, derive
from gpudx.model import Case, Instrument, Outcome, ProcessInfo
from gpudx.report import Page, render

SEEDS = times(300)
SIZE = 4096
ENDS = (
    Outcome("passed", "The program ended normally after 1 s.", 0, duration_s=1),
    Outcome("exit", "The program exited with status 3 after 1 s.", 3, duration_s=1),
    Outcome("signal", "The program was killed by SIGABRT after 1 s.", None, "SIGABRT", duration_s=1),
    Outcome("signal", "The program was killed by SIGINT (interrupt) after 1 s.", None, "SIGINT", duration_s=1),
    Outcome("timeout", "The program was stopped after 1 s.", None, duration_s=1),
)
CALLED = re.compile(r"\b(cl[A-Z]\w+)(?: of kernel \w+| for kernel \w+)?,? \(?call (?:number )?([\d,]+)\)?")
CITED = re.compile(r"\[calls? ([\d, .]+)\]")
THREAD = re.compile(r"\bthread (\d+)\b")
LABEL = re.compile(r"\b(buffer|kernel) #(\d+)\b", re.IGNORECASE)
COUNTED = re.compile(r"(\d[\d,]*) calls? recorded; (no call failed|\d+ calls? failed), (none was in flight|\d+ calls? had not returned)")
WATCHED = re.compile(r"([\d,]+) recorded calls?, ([\d,]+) launch")


class Lot:
    """One process."""

    def __init__(self, schema: str, seed: int) -> None:
        self.chance = random.Random(seed)
        self.world = World(schema)
        self.outcome = self.chance.choice(ENDS)
        self.buffers = [self.world.buffer(SIZE) for _ in range(3)]
        arguments = [Arg("float*", "data", GLOBAL), Arg("int", "n")]
        self.kernels = [self.world.kernel(name, arguments) for name in ("scale", "reduce")]
        for _ in range(self.chance.randint(3, 20)):
            self.step()
        if self.chance.random() < 0.5 and self.outcome.kind != "passed":
            self.world.call("clFinish", queue=self.world.queue, open_=True, tid=self.chance.choice((1, 2)))
        self.world.header["ended"] = self.outcome.kind in ("passed", "exit")

    def step(self) -> None:
        world, chance = self.world, self.chance
        buffer, kernel, thread = chance.choice(self.buffers), chance.choice(self.kernels), chance.choice((1, 1, 2))
        status = chance.choice((0, 0, 0, 0, -5, -30))
        choice = chance.randrange(7)
        if choice == 0:
            world.call("clEnqueueReadBuffer", queue=world.queue, buffer=buffer, blocking=1, size=SIZE, status=status, tid=thread)
        elif choice == 1:
            world.call("clEnqueueWriteBuffer", queue=world.queue, buffer=buffer, blocking=1, size=SIZE, status=status, tid=thread)
        elif choice == 2:
            world.set_arg(kernel, 0, chance.choice((buffer, buffer, SIZE, world.queue, 0x123456789000)), tid=thread)
        elif choice == 3:
            world.set_arg(kernel, 1, SIZE // 4, 4, tid=thread)
        elif choice == 4:
            world.launch(kernel, (SIZE // 4,), tid=thread, status=status)
        elif choice == 5 and chance.random() < 0.3:
            world.release(buffer, tid=thread)
        else:
            world.call("clFinish", queue=world.queue, status=status, tid=thread)


def case_of(facts: Facts, outcome: Outcome) -> Case:
    found = find([facts], outcome)
    process = ProcessInfo(facts.trace.pid, 1, "./app", "traces/1.gdx", len(facts.trace), len(facts.launches))
    entries = diagnose(found, outcome, [process])
    if not entries and outcome.failed:
        entries = (unexplained(outcome, len(facts.trace), len(facts.errors), len(facts.in_flight)),)
    saw = Instrument("recorder", "live", f"saw {len(facts.trace):,} calls")
    return Case(("./app",), "/case", "2026-01-02T03:04:05Z", "1", outcome, (saw,), (process,), found, entries)


def number(text: str) -> int:
    return int(text.replace(",", ""))


def wrong_claims(text: str, facts: Facts, outcome: Outcome) -> Iterator[str]:
    trace = facts.trace
    for name, at in CALLED.findall(text):
        real = trace.info(number(at) - 1).name if 0 < number(at) <= len(trace) else "no call"
        if real != name:
            yield f"{name} is said to be call {at}, which is {real}"
    for cited in CITED.findall(text):
        numbers = map(number, re.findall(r"\d+(?:,\d{3})*(?!\d)", cited))
        yield from (f"call {one} is cited" for one in numbers if not 0 < one <= len(trace))
    threads = set(map(int, trace.column("tid")))
    yield from (f"thread {one} made no call" for one in THREAD.findall(text) if int(one) not in threads)
    labels = {facts.objects.label(row) for row in range(len(facts.objects))}
    yield from (f"{kind} #{one} does not exist" for kind, one in LABEL.findall(text) if f"{kind.lower()} #{one}" not in labels)
    yield from wrong_counts(text, facts)
    if outcome.signal is None and re.search(r"\bcrashed with SIG|killed by SIG", text):
        yield "a signal is named, and there was none"
    if "faulting address" in text or "fault address" in text:
        yield "an address is named, and none was recorded"
    if "refused this very call" in text and not len(facts.errors):
        yield "a refusal is named, and no call failed"


def wrong_counts(text: str, facts: Facts) -> Iterator[str]:
    for calls, failed, busy in COUNTED.findall(text):
        said = (number(calls), int(failed.split()[0]) if failed[0].isdigit() else 0, int(busy.split()[0]) if busy[0].isdigit() else 0)
        if said != (len(facts.trace), len(facts.errors), len(facts.in_flight)):
            yield f"counted {said}"
    for calls, launches in WATCHED.findall(text):
        if (number(calls), number(launches)) != (len(facts.trace), len(facts.launches)):
            yield f"watched {calls} calls and {launches} launches"


@pytest.mark.parametrize("seed", range(SEEDS))
def test_reports_claim_what_was_recorded(schema: str, tmp_path: Path, seed: int) -> None:
    lot = Lot(schema, seed)
    facts = derive(lot.world.write(tmp_path / "1-0.gdx"))
    case = case_of(facts, lot.outcome)
    for form in ("terminal", "markdown"):
        text = " ".join(render(case, form, Page(width=110)).replace("\\", "").split())
        assert not list(wrong_claims(text, facts, lot.outcome)), text
    for entry in case.diagnosis:
        known = every_cause().get(entry.cause)
        assert known is None or set(known.steps("opencl")) <= set(entry.fix) or not entry.guilty


def test_the_reader_finds_wrong_claims(schema: str, tmp_path: Path) -> None:
    """A test that cannot fail is none."""
    lot = Lot(schema, 1)
    facts = derive(lot.world.write(tmp_path / "1-0.gdx"))
    many = f"{len(facts.trace) + 1} calls recorded; no call failed, none was in flight at the end"
    lies = ["clFinish (call 1)", "thread 77", "buffer #9", "[call 9,999]", "The faulting address was 0x0.", many]
    for lie in lies:
        assert list(wrong_claims(lie, facts, ENDS[0])), lie


def test_the_lots_reach_the_detectors(schema: str, tmp_path: Path) -> None:
    seen = set()
    for seed in range(SEEDS):
        lot = Lot(schema, seed)
        facts = derive(lot.world.write(tmp_path / f"{seed}-0.gdx"))
        seen |= {one.id for one in find([facts], lot.outcome)}
    assert len(seen) >= 8, seen
