"""Events that only the program can complete: which it never completed, and which calls wait for them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpudx.detectors._in_flight import events_of, maker_of
from gpudx.facts import Facts

I64 = NDArray[np.int64]
U64 = NDArray[np.uint64]
MOST_COMMANDS = 4096  # that are looked into for one wait


def forgotten_events(facts: Facts) -> set[int]:
    """Calls that made a user event which no later call completed."""
    made, handles = user_events(facts)
    done, signalled = signals(facts)
    return {int(p) for p, event in zip(made, handles, strict=True) if not ((signalled == event) & (done > p)).any()}


def user_events(facts: Facts) -> tuple[I64, U64]:
    """Events that only the program completes: where, and their handles."""
    trace = facts.trace
    apis = {info.api for info in trace.schema.doing("signal") if info.word("event") is not None}
    makers = [c for c in trace.schema.doing("create", "event") if c.api in apis and c.word("result") is not None]
    makers = [c for c in makers if c.word("sync") is None]  # these stand for a fence that a graphics API completes
    found = [(trace.select(c), c) for c in makers]
    good = [(p[trace.column("status", p) == 0], c) for p, c in found]
    positions = np.concatenate([np.zeros(0, np.int64), *(p for p, _ in good)])
    handles = np.concatenate([np.zeros(0, np.uint64), *(trace.field(c, "result", p) for p, c in good)])
    return positions[handles != 0], handles[handles != 0]


def signals(facts: Facts) -> tuple[I64, U64]:
    """Calls that complete events, and the events."""
    trace = facts.trace
    calls = [(trace.select(c), c) for c in trace.schema.doing("signal") if c.word("event") is not None]
    positions = np.concatenate([np.zeros(0, np.int64), *(p for p, _ in calls)])
    return positions, np.concatenate([np.zeros(0, np.uint64), *(trace.field(c, "event", p) for p, c in calls)])


def held_by_program(facts: Facts, wait: int, forgotten: set[int]) -> dict[int, int]:
    """The forgotten events that a call cannot return, or a command end, before; each with the first call that has it in its list."""
    if not forgotten:
        return {}
    found: dict[int, int] = {}
    seen, todo = set[int](), [wait, *_finished(facts, wait)]
    while todo and len(seen) < MOST_COMMANDS:
        call = todo.pop()
        if call in seen:
            continue
        seen.add(call)
        for event in (*events_of(facts, call), *_wait_list(facts, call)):
            maker = maker_of(facts, event, call)
            if maker in forgotten:
                found[maker] = min(call, found.get(maker, call))
            elif maker is not None:
                todo.append(maker)
        todo += _before_in_queue(facts, call)
    return found


def _wait_list(facts: Facts, call: int) -> list[int]:
    return [int(e) for e in np.frombuffer(facts.trace.array(call, "waits"), "<u8")]


def _finished(facts: Facts, wait: int) -> list[int]:
    """The commands that a wait for a whole queue waits for."""
    queue = facts.trace.record(wait).get("queue")
    return _of_queue(facts, queue, wait) if queue and facts.trace.info(wait).does == "wait" else []


def _before_in_queue(facts: Facts, call: int) -> list[int]:
    """The commands before a command in its queue, where these run in order."""
    ops = facts.happens.ops
    row = np.searchsorted(ops["position"], call)
    queue = facts.trace.record(call).get("queue")
    if not queue or facts.trace.info(call).does == "wait":
        return []
    known = row < len(ops["position"]) and ops["position"][row] == call
    mine = np.flatnonzero(facts.happens.queues.handle == np.uint64(queue))
    numbers = [int(ops["queue"][row])] if known else mine.tolist()
    in_order = bool(numbers) and all(facts.happens.queues.in_order[n] for n in numbers)
    return _of_queue(facts, queue, call) if in_order else []


def _of_queue(facts: Facts, queue: int, before: int) -> list[int]:
    """The latest commands of a queue that have a wait list: only those can wait for an event."""
    ops, queues = facts.happens.ops, facts.happens.queues
    mine = ops["position"][(queues.handle[ops["queue"]] == np.uint64(queue)) & (ops["position"] < before)]
    return [p for p in mine[-MOST_COMMANDS:].tolist() if len(facts.trace.array(p, "waits"))]
