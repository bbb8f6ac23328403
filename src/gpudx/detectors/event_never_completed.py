"""The program hung because a command waits for a user event that nothing completed.

A user event is complete only when the program sets its status (OpenCL 3.0 API specification, clSetUserEventStatus). Every
command that has it in its wait list, and every command behind that one in an in-order queue, waits until then.

Example:

    cl_event loaded = clCreateUserEvent(context, &status);
    clEnqueueWriteBuffer(queue, buffer, CL_FALSE, 0, bytes, block, 1, &loaded, NULL);
    if (parse(block) != 0)
        return;                                          // clSetUserEventStatus(loaded, ...) is skipped
    clSetUserEventStatus(loaded, CL_COMPLETE);

Fix it by completing the event on every path; a negative status ends the commands that wait for it with an error.

Two threads may wait for each other: each completes the other's event, but only behind its own wait. That is named where both waits are
seen, and the same function completes an event behind the wait, or these threads are the ones that completed all events before.

The event may be completed by a callback of a command that is itself behind the wait: a circle, which is named where the same callback
completed other user events before, or was given the event as its user_data. Then the order of the commands is what to change.

Not reported if the program might still have completed the event: another thread waits for other work, or a callback of other
work is registered.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import takewhile

import numpy as np

from gpudx.detectors import Run
from gpudx.detectors._host_source import lines_of
from gpudx.detectors._in_flight import maker_of, pending
from gpudx.detectors._user_events import MOST_COMMANDS, forgotten_events, held_by_program, signals, user_events
from gpudx.detectors._words import of_kind, placed, site_of, sites_of
from gpudx.detectors.hang import is_stopped, waited
from gpudx.facts import Facts
from gpudx.facts.callbacks import Waiting, waiting_callbacks
from gpudx.facts.stuck import is_wait, work_name
from gpudx.model import Cause, Evidence, Finding, Site
from gpudx.model.cause_kinds import FIXED
from gpudx.text import plural, several

ID = "event-never-completed"
NEEDS_EVERY_CALL = True
CAUSE = Cause(
    id=ID,
    title="A command waits for a user event that nothing completed",
    refutes_if="The event is completed, and the wait returns, with a larger --timeout.",
    fix=("Complete the event on every path of the program, also where it gives up or skips something.",),
    fix_of=(("opencl", "On an error path, complete it with a negative status: the commands that wait for it then end with an error."),),
    predicts=(("recorded", "the hanging wait depends on a user event that no call completed"),),
    kind=FIXED,
)
CIRCLE = "circular-wait"
PLACES = 3  # lines that complete other events
BECAUSE = (
    "The wait cannot return before this event is complete, and no call completed it before the program was stopped."
)


def detect(facts: Facts, run: Run) -> Iterator[Finding]:
    """At most one finding for a process."""
    calls = [int(p) for p in facts.in_flight]
    if facts.trace.gaps or not is_stopped(facts, run, calls):
        return
    forgotten = forgotten_events(facts)
    waits = [p for p in calls if is_wait(facts, p)]
    if not forgotten or not waits:
        return
    held = [held_by_program(facts, wait, forgotten) for wait in waits]
    if all(held) and not _may_be_completed_by_callback(facts, forgotten):
        mutual = _mutual(facts, dict(zip(waits, held, strict=True)))
        yield _of_threads(facts, run, mutual) if mutual else _finding(facts, run, waits[0], held[0])


def _may_be_completed_by_callback(facts: Facts, forgotten: set[int]) -> bool:
    """Is a callback registered for work that does not wait for these events itself, and may not have ended? It may be what completes
    them. One of work that has ended was called, and did not."""
    trace = facts.trace
    for info in trace.schema.doing("callback"):
        if dict(info.fields).get("event") != "handle:event":
            continue
        for position in trace.select(info).tolist():
            maker = maker_of(facts, trace.record(position)["event"], position)
            if maker is None or not (maker in forgotten or held_by_program(facts, maker, forgotten) or _has_ended(facts, maker)):
                return True
    return False


def _has_ended(facts: Facts, command: int) -> bool:
    """Does a wait that returned cover the command?"""
    queue = facts.trace.record(command).get("queue")
    return bool(queue) and command not in pending(facts, int(queue or 0), len(facts.trace))


@dataclass(frozen=True)
class Circle:
    """A command whose callback completes user events, behind a command in its queue that waits for one that nothing completed."""

    callback: Waiting
    behind: int
    before: int
    event: int  # the call that made the event


def _circle(facts: Facts) -> Circle | None:
    forgotten = forgotten_events(facts)
    completing = set(signals(facts)[0].tolist())
    for one in waiting_callbacks(facts):
        maker = maker_of(facts, one.event, one.registered) if completing & set(one.calls) else None
        held = held_by_program(facts, maker, forgotten) if maker is not None else {}
        own = facts.trace.record(maker).get("queue") if maker is not None else None
        blocked = [(call, event) for event, call in held.items() if call != maker and facts.trace.record(call).get("queue") == own]
        if maker is not None and blocked:
            return Circle(one, maker, *min(blocked))
    return None


@dataclass(frozen=True)
class Waiter:
    """A thread in a wait for a command that is held by a user event, and the line behind the wait that completes another one, or 0."""

    wait: int
    event: int  # the call that made it
    command: int
    completes: int


def _mutual(facts: Facts, held: dict[int, dict[int, int]]) -> list[Waiter]:
    """Threads that wait for different user events, and complete some themselves, but only behind the wait: in the same function, or in an
    earlier round, in which nobody else did. [] where another thread may be the one that should have completed these."""
    names = [info.name for info in facts.trace.schema.doing("signal") if info.word("event") is not None]
    behind = {wait: completes_behind(site_of(facts, wait).source or "", names) for wait in held}
    found = [Waiter(wait, min(events), events[min(events)], behind[wait]) for wait, events in held.items()]
    tids = {site_of(facts, one.wait).tid for one in found}
    apart = len(tids) == len(found) > 1 and sum(map(len, held.values())) == len(set().union(*held.values()))
    signalled = {int(tid) for tid in facts.trace.column("tid", signals(facts)[0])}
    return found if apart and (signalled == tids or all(one.completes for one in found)) else []


def completes_behind(source: str, names: Collection[str]) -> int:
    """The next line of the same function with one of these calls, which complete user events; 0 if there is none, or no source."""
    path, _, line = source.rpartition(":")
    rest = lines_of(path)[int(line) :] if line.isdigit() else []
    own = takewhile(lambda text: not text.startswith("}"), rest)  # up to the end of a function of C
    return next((int(line) + at for at, text in enumerate(own, 1) if any(f"{name}(" in text for name in names)), 0)


@dataclass(frozen=True)
class Opened:
    """A user event (the call that made it) that a callback completes when a command has ended, and the other user event that this command
    waits for: `behind` is the call that has it in its list, the command itself or one before it in its queue."""

    event: int
    registered: int
    command: int
    waits_for: int
    behind: int


def _ring(facts: Facts, held: dict[int, int]) -> list[Opened]:
    """User events each of which is completed when a command has ended that waits for the next one, and the last for the first; [] if none
    is known. Which event a callback completes shows in the user_data that it is given."""
    opened = {one.event: one for one in _opened(facts)}
    for start in sorted(held):
        ring: list[Opened] = []
        event = start
        while event in opened and opened[event] not in ring:
            ring.append(opened[event])
            event = ring[-1].waits_for
        if event in opened:
            return ring[ring.index(opened[event]) :]
    return []


def _opened(facts: Facts) -> Iterator[Opened]:
    """One for each event whose handle a callback was given, where the callback's command waits for a user event that nothing completed."""
    trace, forgotten = facts.trace, forgotten_events(facts)
    handles = {trace.record(p)["result"]: p for p in sorted(forgotten)}
    for info in trace.schema.doing("callback"):
        if info.word("event") is None or info.word("data") is None:
            continue
        for position in trace.select(info).tolist():
            words = trace.record(position)
            event, command = handles.get(words["data"]), maker_of(facts, words["event"], position)
            if event is None or command is None or event > position:
                continue
            held = held_by_program(facts, command, forgotten)
            first = command if command in held.values() else min(held.values(), default=command)
            yield from (Opened(event, position, command, one, call) for one, call in held.items() if call == first)


def completed_at(facts: Facts, source: str) -> list[Site]:
    """The calls that completed the user events which this line created: where a run that passed does what another one left out."""
    made, handles = user_events(facts)
    done, signalled = signals(facts)
    mine = [event for p, event in zip(made.tolist(), handles.tolist(), strict=True) if site_of(facts, p).source == source]
    return [site_of(facts, p) for p, event in zip(done.tolist(), signalled.tolist(), strict=True) if event in mine]


# ---- words ----


def _finding(facts: Facts, run: Run, wait: int, held: dict[int, int]) -> Finding:
    maker = min(held)
    event, end = site_of(facts, maker), site_of(facts, wait)
    command = held[maker]
    what = _what(facts, command)
    through = "" if command == wait else f", and {placed(end)} waits for that command"
    ring = _ring(facts, held)
    circle = _circle(facts) if not ring else None
    message = (
        f"The program hung because nothing completed {_which(facts, maker)} that {placed(event)} created: "
        f"{placed(site_of(facts, command))}{what} waits for it{through}."
    )
    return Finding(
        id=ID,
        severity="error",
        message=_in_ring(facts, ring) if ring else _in_circle(facts, circle) if circle else message,
        evidence=(*_events(facts, maker, len(held)), *_waiting(facts, run, wait)),
        site=site_of(facts, ring[0].behind) if ring else site_of(facts, circle.behind) if circle else event,
        others=sites_of(facts, dict.fromkeys((*(one.command for one in ring), wait, command, maker))),
        causes=(CIRCLE if circle or ring else ID,),
        facts=(("call", event.call), ("command", facts.trace.info(command).name), ("wait", end.call)),
        because=BECAUSE,
        inevitable=True,
        steps=_open_ring(facts, ring) if ring else _apart(facts, circle) if circle else _steps(facts, event),
    )


def _of_threads(facts: Facts, run: Run, mutual: list[Waiter]) -> Finding:
    waits = [site_of(facts, one.wait) for one in mutual]
    first, lines = waits[0], {one.source for one in waits}
    place = placed(first) if len(lines) > 1 else f"{first.call}{f' ({os.path.basename(first.source)})' if first.source else ''}"
    behind = mutual[0].completes
    where = f", in line {behind}" if behind and len(lines) == 1 else ""
    return Finding(
        id=ID,
        severity="error",
        message=(
            f"The program hung because {plural(len(mutual), 'thread')} wait for each other: each waits in {place} for a user event, and "
            f"completes one itself only behind this wait{where}."
        ),
        evidence=(*(_of_waiter(facts, one) for one in mutual[:PLACES]), *_waiting(facts, run, mutual[0].wait)),
        site=first,
        others=(*waits, *sites_of(facts, dict.fromkeys(one.command for one in mutual))),
        causes=(CIRCLE,),
        facts=(("call", facts.trace.info(mutual[0].event).name), ("wait", first.call)),
        because=BECAUSE,
        inevitable=True,
        steps=(f"Complete the user event before this {first.call}, and let it wait only for work that the event does not need.",),
    )


def _of_waiter(facts: Facts, one: Waiter) -> Evidence:
    wait, event, command = (site_of(facts, at) for at in (one.wait, one.event, one.command))
    work = f"launch {command.launch} ({command.kernel})" if command.launch else f"{command.call} (call {command.number})"
    text = f"thread {wait.tid} is in {wait.call} (call {wait.number}); {work} waits for the user event of call {event.number}"
    return Evidence(text, (wait.number, command.number, event.number))


def _in_circle(facts: Facts, circle: Circle) -> str:
    name = f"callback {circle.callback.name}" if circle.callback.name else "callback"
    before, behind = (placed(site_of(facts, p)) for p in (circle.before, circle.behind))
    return (
        f"The program hung in a circle: {before} waits for {_which(facts, circle.event)}. The {name} completes such events when {behind} "
        "has ended, but this command is behind the waiting one in the same in-order queue."
    )


def _in_ring(facts: Facts, ring: list[Opened]) -> str:
    parts = []
    for one in ring:
        name, waits = placed(site_of(facts, one.command)), _short(facts, one.waits_for)
        before = "" if one.behind == one.command else f" behind {placed(site_of(facts, one.behind))}"
        own = "itself" if one.waits_for == one.event else waits
        parts.append(f"{_short(facts, one.event)} is completed by a callback of {name}, which waits for {own}{before}")
    return f"The program hung in a circle of user events: {'; '.join(parts)}."


def _open_ring(facts: Facts, ring: list[Opened]) -> tuple[str, ...]:
    waits, event = placed(site_of(facts, ring[-1].behind)), _short(facts, ring[-1].waits_for)
    return (f"Remove one wait of the circle, for example that of {waits} for {event}.",)


def _apart(facts: Facts, circle: Circle) -> tuple[str, ...]:
    before, behind = (placed(site_of(facts, p)) for p in (circle.before, circle.behind))
    return (f"Enqueue {behind} before {before}, or put it into another queue.",)


def _which(facts: Facts, maker: int) -> str:
    """ "the 4th of 6 user events": in a loop, that is the iteration."""
    return of_kind(facts, maker, "user events") or "the user event"


def _short(facts: Facts, maker: int) -> str:
    found = of_kind(facts, maker)
    return f"{found.partition(' of ')[0]} (call {maker + 1})" if found else f"the one of call {maker + 1}"


def _what(facts: Facts, command: int) -> str:
    """ ", which writes 16,384 bytes to buffer #9,"; "" where the name of the call says it all."""
    if facts.launches.at_position(command) is not None:
        return f", {work_name(facts, command).rpartition(' (')[0]},"
    info, words = facts.trace.info(command), facts.trace.record(command)
    name = next((n for n, kind in info.fields if kind == "handle:mem"), "")
    if info.does != "copy" or not info.host or not name or "size" not in words:
        return ""
    row = int(facts.objects.at(np.array([words[name]], np.uint64), np.array([command], np.int64))[0])
    memory = facts.objects.label(row) if row >= 0 else f"buffer {words[name]:#x}"
    return f", which {'writes' if info.writes else 'reads'} {words['size']:,} bytes {'to' if info.writes else 'from'} {memory},"


def _events(facts: Facts, maker: int, forgotten: int) -> Iterator[Evidence]:
    made, _ = user_events(facts)
    done, _ = signals(facts)
    ended = len(made) - len(forgotten_events(facts))
    if ended:
        sites = sites_of(facts, done[:MOST_COMMANDS].tolist())
        lines = list(dict.fromkeys(f"{s.call} at {s.source}" if s.source else s.call for s in sites))
        text = f"{ended:,} of {plural(len(made), 'user event')} {'was' if ended == 1 else 'were'} completed, by {several(lines, PLACES)}"
        yield Evidence(f"{text}; {_short(facts, maker)} was not", (maker + 1, *(s.number for s in sites[-1:])))
    elif len(made) > 1:
        yield Evidence(f"none of {len(made):,} user events was completed", (maker + 1,))
    else:
        yield Evidence("no call completed the event", (maker + 1,))
    if forgotten > 1:
        yield Evidence(f"the wait depends on {forgotten:,} user events that nothing completed; this is the first")


def _waiting(facts: Facts, run: Run, wait: int) -> Iterator[Evidence]:
    site = site_of(facts, wait)
    yield Evidence(
        f"thread {site.tid} was in {placed(site)} for up to {waited(facts, run, wait):.1f} s", (site.number,)
    )


def _steps(facts: Facts, event: Site) -> tuple[str, ...]:
    done, _ = signals(facts)
    if not len(done):
        return ()
    last = site_of(facts, int(done[-1]))
    where = f" at {last.source}" if last.source else ""
    return (f"Find the path that skips {last.call}{where} for {_which(facts, event.number - 1)}.",)
