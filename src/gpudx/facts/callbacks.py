"""Functions of the program that the driver calls for an event: which had not returned when the record ends, and which were not called."""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpudx.facts import Facts
from gpudx.facts.symbols import pretty


@dataclass(frozen=True)
class OpenCallback:
    """`position` is of its note, `registered` of the call that registered it. `complete`: the event's command had ended."""

    position: int
    registered: int | None
    event: int
    tid: int
    name: str  # of the function, and its line as far as they are known
    complete: bool


@dataclass(frozen=True)
class Waiting:
    """A callback that was registered and not called, though its function was called for other events."""

    registered: int  # position
    event: int
    name: str
    calls: tuple[int, ...]  # positions of the calls that it made in its earlier turns


def waiting_callbacks(facts: Facts) -> list[Waiting]:
    """Oldest first."""
    trace, notes = facts.trace, facts.trace.named("note_callback")
    note = trace.schema.by_name("note_callback")
    if note is None or not len(notes):
        return []
    events, functions = (trace.field(note, name, notes) for name in ("event", "notify"))
    inside = {int(one): _calls_inside(facts, notes[functions == one]) for one in np.unique(functions)}
    found = []
    for info in trace.schema.doing("callback"):
        if info.word("event") is None or info.word("notify") is None:
            continue
        for position in trace.select(info).tolist():
            words = trace.record(position)
            called = ((events == words["event"]) & (functions == words["notify"]) & (notes > position)).any()
            if not called and words["notify"] in inside:
                found.append(Waiting(position, words["event"], _name(facts, words["notify"]), inside[words["notify"]]))
    return sorted(found, key=lambda one: one.registered)


def _calls_inside(facts: Facts, notes: NDArray[np.int64]) -> tuple[int, ...]:
    trace, found = facts.trace, []
    tid, begin, end = (trace.column(name) for name in ("tid", "begin", "end"))
    for note in notes.tolist():
        until = end[note] or np.iinfo(end.dtype).max
        mine = (tid == tid[note]) & (begin >= begin[note]) & (begin <= until) & ~trace.is_note
        found += np.flatnonzero(mine).tolist()
    return tuple(found)


def open_callbacks(facts: Facts) -> list[OpenCallback]:
    """Oldest first."""
    trace = facts.trace
    notes = trace.named("note_callback")
    return [_callback(facts, int(note)) for note in notes[trace.column("end", notes) == 0]]


def _callback(facts: Facts, note: int) -> OpenCallback:
    words = facts.trace.record(note)
    return OpenCallback(
        position=note,
        registered=_registered(facts, words["event"], words["notify"], note),
        event=words["event"],
        tid=int(facts.trace.column("tid", np.array([note]))[0]),
        name=_name(facts, words["notify"]),
        complete=bool(words["complete"]),
    )


def _registered(facts: Facts, event: int, notify: int, before: int) -> int | None:
    trace, found = facts.trace, -1
    for info in trace.schema.doing("callback"):
        if info.word("event") is None or info.word("notify") is None:
            continue
        calls = trace.select(info)
        same = (trace.field(info, "event", calls) == event) & (trace.field(info, "notify", calls) == notify)
        found = max(found, int(calls[same & (calls < before)].max(initial=-1)))
    return found if found >= 0 else None


def _name(facts: Facts, notify: int) -> str:
    place = facts.symbols.locate(notify)
    if place is None or not (place.function or place.source):
        return ""
    line = f" at {os.path.basename(place.source)}" if place.source else ""
    return f"{pretty(place.function)}{line}".strip()
