"""How certain it is that two uses of one memory are in each other's way.

Copies and fills touch exactly their bytes. A kernel touches what it wants from the pointer on: it is certain only where
nothing else is left to touch. Programs that split one buffer between queues give every launch the same pointer and
another number or pointer besides; what looks like that is never told.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpudx.facts import Facts
from gpudx.facts.accesses import MAY, READ, WRITE
from gpudx.facts.kernels import KernelInfo
from gpudx.facts.once import once
from gpudx.facts.operations import field_of
from gpudx.facts.uses import ALL, FROM, MAKES, WITHIN

I64 = NDArray[np.int64]
FLOATS = ("float", "double", "half")
MOST_ROWS = 1 << 16  # of a copy that are compared one by one
MOST_COMPARED = 16  # launches of one kernel
PLACES = ("queue", "event", "kernel", "graph_exec", "node")  # what may differ between launches that do the same


@dataclass(frozen=True)
class Overlap:
    """Two uses that meet. `bytes` of them for certain, 0 where a kernel alone knows; `doubt` is what is not known."""

    certain: bool
    bytes: int
    doubt: str = ""
    meet: bool = False  # they meet, in bytes that only the kernels know


def overlap(facts: Facts, first: int, second: int) -> Overlap | None:
    """How two uses (rows of facts.uses) meet, None if they may well not."""
    kernels = [row for row in (first, second) if _is_kernel(facts, row)]
    if not kernels:
        shared = _shared_bytes(facts, first, second)
        return Overlap(True, shared) if shared else None
    if any(_is_mixed_up(facts, row) for row in kernels):
        return None
    members = any(facts.uses.table["inside"][row] for row in kernels)
    if members and len(kernels) == 2:
        return None  # structures are shared by kernels that use different members
    if _split(facts, first, second) or _split(facts, second, first):
        return None
    if all(_only_reads(facts, row) for row in (first, second)):
        return None
    if len(kernels) == 2:
        shared = _parts_that_meet(facts, first, second)
        if shared:
            return Overlap(False, shared, "whether both kernels touch the bytes that their parts of the buffer share")
        if _overwrite_each_other(facts, first, second):
            return Overlap(False, 0, "how many bytes both write", meet=True)
        if _write_what_others_use(facts, first, second):
            return Overlap(False, 0, "how many bytes both use", meet=True)
        return Overlap(False, 0, "whether both use the same bytes of it, and whether one of them writes there")
    met = _kernel_and_copy(facts, kernels[0], second if kernels[0] == first else first)
    return Overlap(False, 0, "whether the kernel uses this member of the structure") if met and members else met


def _parts_that_meet(facts: Facts, first: int, second: int) -> int:
    """Bytes that two different parts of a buffer share. Work on such parts at the same time is undefined, unless both only read
    (OpenCL API specification, clCreateSubBuffer). Equal and nested parts may be one on purpose."""
    table = facts.uses.table
    if any(int(table["reach"][row]) != WITHIN for row in (first, second)):
        return 0
    low, high = sorted((int(table["first"][row]), int(table["end"][row])) for row in (first, second))
    return low[1] - high[0] if low[0] < high[0] < low[1] < high[1] else 0


def _is_kernel(facts: Facts, row: int) -> bool:
    return int(facts.uses.table["argument"][row]) >= 0


def _only_reads(facts: Facts, row: int) -> bool:
    """Does a use surely not write? Of a kernel, by its source: pointers that are only read are often not declared const."""
    use = facts.uses.table[row]
    if not int(use["how"]) & WRITE:
        return True
    if not _is_kernel(facts, row) or use["node"]:
        return False
    return facts.kernels.only_reads(_kernel_row(facts, row), int(use["argument"]))


def _is_mixed_up(facts: Facts, row: int) -> bool:
    """Was the argument put there by another thread than the one that launched? Then that is the fault, if there is one
    (kernel-shared-by-threads), and what the launch was to be given is not known."""
    use = facts.uses.table[row]
    return (int(use["at"]), int(use["argument"])) in _set_by_others(facts)


@once
def _set_by_others(facts: Facts) -> frozenset[tuple[int, int]]:
    """Arguments by the position of their launch and their index. A setter of 0 was not told."""
    launches, arguments = facts.launches, facts.launches.arguments
    other = np.flatnonzero((arguments.setter != 0) & (arguments.setter != launches.tid[arguments.launch]))
    positions = launches.position[arguments.launch[other]]
    return frozenset(zip(positions.tolist(), arguments.index[other].tolist(), strict=True))


# ---- copies and fills ----


def _shared_bytes(facts: Facts, first: int, second: int) -> int:
    """Bytes that both surely touch."""
    sides = [_stretches(facts, row) for row in (first, second)]
    known = [side for side in sides if side is not None]
    if len(known) == 2:
        return _common(*known[0], *known[1])
    if not known:
        return 0
    table, part = facts.uses.table, first if sides[0] is None else second
    other = second if part == first else first
    covers = table["first"][other] <= table["first"][part] and table["end"][part] <= table["end"][other]
    return 1 if covers and int(table["reach"][other]) == ALL else 0


def _stretches(facts: Facts, row: int) -> tuple[I64, int] | None:
    """Where the rows of a copy begin, and their width; None where this is not known."""
    use = facts.uses.table[row]
    if int(use["reach"]) == ALL:
        return np.array([use["first"]], np.int64), int(use["end"] - use["first"])
    for at in facts.ranges.at(int(use["at"])) if not use["node"] else ():
        side = facts.ranges.table[at]
        if side["how"] == use["how"] and facts.ranges.object[at] == use["memory"] and side["layers"] == 1:
            rows = min(int(side["height"]), MOST_ROWS)
            return int(use["first"]) + np.arange(rows, dtype=np.int64) * int(side["pitch"]), int(side["width"])
    return None


def _common(starts: I64, width: int, others: I64, other_width: int) -> int:
    """Bytes in both of two sets of rows, each of which does not overlap itself."""
    last = np.searchsorted(others, starts + width)
    first = np.searchsorted(others + other_width, starts, side="right")
    met = np.flatnonzero(last > first)
    low = np.maximum(starts[met], others[first[met]])
    high = np.minimum(starts[met] + width, others[first[met]] + other_width)
    return int((high - low).clip(0).sum())


# ---- kernels ----


def _kernel_and_copy(facts: Facts, kernel: int, copy: int) -> Overlap | None:
    table = facts.uses.table
    one, other = table[kernel], table[copy]
    size = int(facts.objects.table["size"][one["memory"]])
    end = int(one["end"]) if int(one["reach"]) == WITHIN else size
    covers = int(other["reach"]) == ALL and other["first"] <= one["first"] and other["end"] >= end > 0
    same = covers or other["first"] == one["first"] or int(one["reach"]) == FROM
    if not same or int(other["reach"]) != ALL:
        return None
    whole = covers and (int(one["reach"]) == WITHIN or int(one["first"]) == 0)
    shared = min(int(other["end"]), end) - int(one["first"])
    if not whole:
        if _split(facts, kernel, None):
            return None
        return Overlap(False, shared, "how much of this memory the kernel touches")
    if int(other["how"]) & WRITE:
        return Overlap(True, shared)
    if _only_writer(facts, kernel):
        return Overlap(True, shared)
    return Overlap(False, shared, "whether the kernel writes this memory")


def _only_writer(facts: Facts, kernel: int) -> bool:
    """Does the data in this memory come from this kernel, since nothing else can have put any there?"""
    table = facts.uses.table
    use = table[kernel]
    if facts.trace.whole_since or facts.objects.table["host_ptr"][use["memory"]]:
        return False
    rows = _of_memory(facts, int(use["memory"]))
    rows = rows[(table["how"][rows] & (WRITE | MAKES)) == WRITE]
    kernels = rows[(table["how"][rows] & MAY) != 0]
    handles = field_of(facts.trace, "kernel", table["at"][kernels].astype(np.int64))
    one_each = kernels[np.unique(handles, return_index=True)[1]]
    functions = {_function(facts, int(row)) for row in one_each}
    return len(kernels) == len(rows) and functions == {_function(facts, kernel)}


@once
def _by_memory(facts: Facts) -> dict[int, I64]:
    return {}


def _of_memory(facts: Facts, memory: int) -> I64:
    known = _by_memory(facts)
    if memory not in known:
        known[memory] = np.flatnonzero(facts.uses.table["memory"] == memory)
    return known[memory]


# ---- one buffer, several parts ----


def _split(facts: Facts, kernel: int, other: int | None) -> bool:
    """Was the kernel also given this pointer in the other's queue (None: in any), with other numbers or pointers beside it?"""
    if not _is_kernel(facts, kernel):
        return False
    table, queue = facts.uses.table, facts.happens.ops["queue"]
    use = table[kernel]
    rows = _of_memory(facts, int(use["memory"]))
    alike = (table["first"][rows] == use["first"]) & (table["argument"][rows] == use["argument"])
    if other is not None:
        alike &= queue[table["op"][rows]] == queue[table["op"][other]]
    rows = rows[alike & (rows != kernel)]
    near = np.argsort(np.abs(rows - kernel), kind="stable")[:MOST_COMPARED]
    mine = _function(facts, kernel)
    return any(_function(facts, int(r)) == mine and not _same_work(facts, kernel, int(r)) for r in rows[near])


def _kernel_row(facts: Facts, row: int) -> int:
    at = int(facts.uses.table["at"][row])
    handle = np.array([facts.trace.record(at)["kernel"]], np.uint64)
    return int(facts.objects.at(handle, np.array([at], np.int64))[0])


def _function(facts: Facts, row: int) -> int:
    return int(facts.kernels.functions(np.array([_kernel_row(facts, row)]))[0])


def _same_work(facts: Facts, first: int, second: int) -> bool:
    """Were two launches of a kernel given the same, up to what cannot say where to work: numbers that are no whole ones or only values,
    pointers that it only writes through, and where the shared memory is all that it may write, its inputs?"""
    trace = facts.trace
    one, two = (int(facts.uses.table["at"][row]) for row in (first, second))
    if one == two:
        return True
    words = [{k: v for k, v in trace.record(at).items() if k not in PLACES} for at in (one, two)]
    if words[0] != words[1] or _other_parts(facts, one) != _other_parts(facts, two):
        return False
    info = facts.kernels.info(_kernel_row(facts, first))
    idle = _idle(info, int(facts.uses.table["argument"][first])) | _stored(facts, first) | _outputs(facts, first) if info else set()
    values = [[a for a in _values(facts, at) if a[0] not in idle] for at in (one, two)]
    return values[0] == values[1]


def _idle(info: KernelInfo, shared: int) -> set[int]:
    """Arguments that cannot say where in the shared memory a kernel works."""
    idle = {i for i, arg in info.args.items() if arg.scalar in FLOATS and "*" not in arg.type}
    written = {i for i, arg in info.args.items() if arg.is_memory and not arg.read_only}
    inputs = {i for i, arg in info.args.items() if arg.is_memory and arg.read_only}
    return idle | (inputs if written == {shared} else set())


def _stored(facts: Facts, row: int) -> set[int]:
    """Arguments that are only values which the kernel stores."""
    kernel = _kernel_row(facts, row)
    info = facts.kernels.info(kernel)
    return {i for i in info.args if facts.kernels.only_stored(kernel, i)} if info else set()


def _outputs(facts: Facts, row: int) -> set[int]:
    """Arguments that the kernel only writes through: no index can come from them."""
    kernel = _kernel_row(facts, row)
    info, written = facts.kernels.info(kernel), facts.kernels.only_written(kernel)
    return {i for i, one in info.args.items() if one.name in written} if info else set()


def _overwrite_each_other(facts: Facts, first: int, second: int) -> bool:
    """Do two launches of one kernel store different numbers in the same places?"""
    if _function(facts, first) != _function(facts, second) or not _same_work(facts, first, second):
        return False
    if any(int(facts.uses.table["first"][row]) != int(facts.uses.table["first"][first]) for row in (first, second)):
        return False
    stored = _stored(facts, first)
    one, two = ([a for a in _values(facts, int(facts.uses.table["at"][row])) if a[0] in stored] for row in (first, second))
    return bool(stored) and one != two


def _write_what_others_use(facts: Facts, first: int, second: int) -> bool:
    """Do the work-items of both kernels use the elements of their own ids, from the same byte on, and does one of them only write them?"""
    table, kernels = facts.uses.table, facts.kernels
    if int(table["first"][first]) != int(table["first"][second]) or any(table["node"][row] for row in (first, second)):
        return False
    known = [(_kernel_row(facts, row), _argument_name(facts, row)) for row in (first, second)]
    return all(name in kernels.at_own_id(kernel) for kernel, name in known) and any(
        name in kernels.only_written(kernel) for kernel, name in known
    )


def _argument_name(facts: Facts, row: int) -> str:
    info = facts.kernels.info(_kernel_row(facts, row))
    argument = info.args.get(int(facts.uses.table["argument"][row])) if info else None
    return argument.name if argument else ""


def _values(facts: Facts, position: int) -> list[tuple[int, int, bytes]]:
    """(index, first 8 bytes, the rest) of the arguments of a launch or a graph's node."""
    _, raw = facts.trace.arguments(np.array([position], np.int64))
    tail = facts.trace.argument_tail(position)
    return [
        (
            int(a["index"]),
            int(a["value"]),
            tail[int(a["tail"]) : int(a["tail"]) + int(a["size"])] if a["size"] > 8 else b"",
        )
        for a in raw
    ]


def _other_parts(facts: Facts, position: int) -> dict[int, bytes]:
    """What a launch was given beside its arguments and its wait list: where in its range it begins."""
    parts, info = facts.trace.parts(position), facts.trace.info(position)
    known = {facts.trace.schema.parts[name] for name in ("arguments", "argument_tail")}
    known |= {number for number, _ in info.arrays.values()}
    return {number: data for number, data in parts.items() if number not in known}


def writes(how: int) -> str:
    """ "reads", "writes", "may write", "makes" for a use."""
    if how & MAKES:
        return "makes"
    if how & MAY:
        return "may write" if how & WRITE else "reads"
    return "writes" if how & WRITE else "reads" if how & READ else "uses"
