"""Facts as plain rows for people and spreadsheets: what `gpudx show` prints."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from gpudx.facts import Facts
from gpudx.facts.objects import MEMORY, NEVER
from gpudx.trace import CallInfo

Row = tuple[Any, ...]


def table(facts: Facts, name: str) -> tuple[list[str], Iterable[Row]]:
    """Column names and rows of one of the tables calls, launches, allocations, errors."""
    columns, rows = TABLES[name]
    return list(columns), rows(facts)


def _status(facts: Facts, position: int, status: int, in_flight: bool) -> str:
    if in_flight:
        return "in flight"
    return facts.errors.status_name(position) if status else ""


def _calls(facts: Facts) -> Iterator[Row]:
    trace = facts.trace
    begin, end = trace.column("begin"), trace.column("end")
    seconds, tids, status = trace.seconds(begin), trace.column("tid"), trace.column("status")
    micro = (end.astype(np.int64) - begin.astype(np.int64)) / trace.ticks_per_second * 1e6
    for at in range(len(trace)):
        info = trace.info(at)
        open_ = not end[at]
        yield (
            at + 1,
            f"{seconds[at]:.6f}",
            int(tids[at]),
            info.name,
            _kernel(facts, at, info),
            _values(facts, at, info),
            _status(facts, at, int(status[at]), open_),
            None if open_ else f"{micro[at]:.1f}",
        )


def _kernel(facts: Facts, position: int, info: CallInfo) -> str | None:
    if info.word("kernel") is None:
        return None
    handle = facts.trace.record(position)["kernel"]
    row = int(facts.objects.at(np.array([handle], np.uint64), np.array([position], np.int64))[0])
    return facts.kernels.name(row) if row >= 0 else None


def _values(facts: Facts, position: int, info: CallInfo) -> str:
    return " ".join(f"{name}={value}" for name, value in values(facts, position) if name != "kernel")


def values(facts: Facts, position: int) -> list[tuple[str, str]]:
    """The fields of one call by name; handles of recorded objects by their labels."""
    words = facts.trace.record(position)
    fields = facts.trace.info(position).fields
    return [(name, _value(facts, words[name], kind, position)) for name, kind in fields if kind != "stack"]


def _value(facts: Facts, value: int, kind: str, position: int) -> str:
    if kind.startswith("handle:") and value:
        row = int(facts.objects.at(np.array([value], np.uint64), np.array([position], np.int64))[0])
        return facts.objects.label(row) if row >= 0 else f"{value:#x}"
    if kind == "signed":
        return str(value - (1 << 64) if value >> 63 else value)
    return f"{value:#x}" if kind == "pointer" or value > 1 << 20 else str(value)


def _launches(facts: Facts) -> Iterator[Row]:
    launches = facts.launches
    seconds = facts.trace.seconds(facts.trace.column("begin", launches.position))
    for row in range(len(launches)):
        position = int(launches.position[row])
        sizes, groups = launches.geometry(row)
        queue = _value(facts, int(launches.queue[row]), "handle:queue", position)
        yield (
            row + 1,
            position + 1,
            f"{seconds[row]:.6f}",
            int(launches.tid[row]),
            launches.name(row),
            queue,
            _sizes(sizes),
            _sizes(groups),
            _arguments(facts, row),
            _status(facts, position, int(launches.status[row]), not launches.done[row]),
        )


def _sizes(sizes: tuple[int, ...]) -> str:
    return "x".join(str(s) for s in sizes if s) or "not given"


def _arguments(facts: Facts, row: int) -> str:
    return " ".join(f"{a['index']}:{_argument(facts, a)}" for a in facts.launches.values(row))


def _argument(facts: Facts, argument: dict[str, Any]) -> str:
    if argument["object"] >= 0:
        return facts.objects.label(argument["object"])
    if argument["flags"] & facts.trace.schema.argument_flags["local"]:
        return f"local[{argument['size']}]"
    data: bytes = argument["bytes"]
    return data.hex() if len(data) > 8 else hex(int.from_bytes(data, "little"))


def _allocations(facts: Facts) -> Iterator[Row]:
    objects = facts.objects
    for row in objects.rows_of(*MEMORY, "svm", "memory"):
        entry = objects.table[row]
        died = None if entry["died"] == NEVER else int(entry["died"]) + 1
        parent = objects.label(int(entry["parent"])) if entry["parent"] >= 0 else None
        yield (
            objects.label(int(row)),
            f"{int(entry['handle']):#x}",
            int(entry["size"]),
            "released" if died else "live",
            int(entry["born"]) + 1,
            died,
            parent,
            int(entry["offset"]) if parent else None,
        )


def _errors(facts: Facts) -> Iterator[Row]:
    for position in map(int, facts.errors.position):
        site = facts.sites.at(position)
        yield (position + 1, site.tid, site.call, site.kernel, site.status, site.source, " < ".join(site.host_stack))


TABLES = {
    "calls": (("number", "time_s", "thread", "call", "kernel", "values", "status", "us"), _calls),
    "launches": (
        ("launch", "number", "time_s", "thread", "kernel", "queue", "global", "local", "arguments", "status"),
        _launches,
    ),
    "allocations": (("name", "handle", "bytes", "state", "made_by", "released_by", "parent", "offset"), _allocations),
    "errors": (("number", "thread", "call", "kernel", "status", "source", "stack"), _errors),
}
