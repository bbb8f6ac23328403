"""Copies that went into a graph while it was captured, with the host memory that each launch of the graph reads or writes anew."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from gpudx.facts import Facts


@dataclass(frozen=True)
class HostCopy:
    """A captured copy (the position of its call) and its side that is ordinary memory of the host."""

    position: int
    address: int
    size: int


def captured_copies(facts: Facts, launch: int) -> Iterator[HostCopy]:
    """Of the graph that a call launches; none where it was not made by one capture of a queue."""
    during = _capture(facts, launch)
    if during is None:
        return
    positions = facts.trace.select(facts.trace.schema.doing("copy"))
    positions = positions[(positions > during[0]) & (positions < during[1])]
    flag = facts.trace.schema.flags.get("captured", 0)
    for position in positions[(facts.trace.column("flags", positions) & flag) != 0].tolist():
        words = facts.trace.record(position)
        for side in ("src", "dst"):
            address, size = words.get(side, 0), words.get("size", 0)
            if address and size and facts.memory.one(address, position) < 0:
                yield HostCopy(position, address, size)


def _capture(facts: Facts, launch: int) -> tuple[int, int] | None:
    """Where the capture of the graph began and ended."""
    exec_ = facts.objects.at(np.array([facts.trace.record(launch)["graph_exec"]], np.uint64), np.array([launch]))[0]
    made = int(facts.objects.table["born"][exec_]) if exec_ >= 0 else -1
    graph = facts.trace.record(made).get("graph", 0) if made >= 0 else 0
    row = facts.objects.at(np.array([graph], np.uint64), np.array([made]))[0] if graph else -1
    end = int(facts.objects.table["born"][row]) if row >= 0 else -1
    if end < 0 or "queue" not in facts.trace.record(end):
        return None
    begins = facts.trace.select(facts.trace.schema.doing("begin_capture"))
    mine = [at for at in begins.tolist() if at < end and facts.trace.record(at)["queue"] == facts.trace.record(end)["queue"]]
    return (mine[-1], end) if mine else None
