"""Transfers that may use the wrong buffer, direction, row pitch or number of bytes, and launches of the wrong size: what each may have
been meant to use.

Nothing here is known to be wrong: each row is one run of an experiment, the most plausible ones first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, islice, zip_longest

import numpy as np
from numpy.typing import NDArray

from gpudx.facts import Facts
from gpudx.facts.accesses import READ, WRITE
from gpudx.facts.calls_by_line import Group, all_have_stacks, by_line, groups
from gpudx.facts.last_writes import NEVER, LastWrites
from gpudx.facts.launch_sizes import Grid, grids
from gpudx.facts.objects import HOST_FAMILIES, MEMORY
from gpudx.facts.once import once
from gpudx.facts.pitches import Pitch, pitches
from gpudx.facts.transfer_sizes import Size, sizes
from gpudx.facts.wrong_arguments import Argument, arguments
from gpudx.trace import CallInfo

MOST = 12  # runs
MOST_PAIRS = 16  # that the recorder reads
MOST_LAUNCHES = 50_000
LOOKED_AT = 64  # calls of one line
ENDS = ("dst", "src")
STRUCTURED = ("3D", "Param2D", "DrvMemcpy2D")
MEMORY_KIND, EXCHANGE, PITCH, SIZE, ARGUMENT, GRID = "memory", "exchange", "pitch", "size", "argument", "grid"
COUNTED = ("device", "managed", "host", "async")  # families of memory that the recorder counts (tools/driver_what_if.py)


@dataclass(frozen=True)
class Redirect:
    """Calls, and what they are to use: other memory (rows of Objects, by what they use now), another pitch, or other sizes.

    side    which of the memory objects or pitches of the call; of a launch, the argument
    """

    kind: str
    wish: str  # as the recorder is asked for it (native/core/what_if.h)
    group: Group
    side: int = 0
    others: tuple[tuple[int, int], ...] = ()
    pitch: Pitch | None = None
    size: Size | None = None
    grid: Grid | None = None


@once
def redirects(facts: Facts) -> tuple[Redirect, ...]:
    """At most MOST, of all kinds in turn."""
    if facts.trace.gaps or len(facts.launches) > MOST_LAUNCHES:
        return ()
    writes = LastWrites(facts)
    of_memory, of_arguments = _other_memory(facts, writes), _arguments(facts, writes)
    kinds = (_grids(facts), of_memory, _exchanged(facts, writes), _pitches(facts), _sizes(facts), of_arguments)
    found = {one.wish: one for one in chain.from_iterable(zip_longest(*kinds)) if one is not None}
    return tuple(islice(found.values(), MOST))


def wishes(facts: Facts) -> tuple[str, ...]:
    return tuple(one.wish for one in redirects(facts))


def has_lines(facts: Facts) -> bool:
    """Is the line known of every call that may be redirected?"""
    return all_have_stacks(facts, _transfers(facts))


def _transfers(facts: Facts) -> Iterator[CallInfo]:
    """Calls that copy, map or fill memory, which they name by handles or by addresses."""
    for info in facts.trace.calls_made:
        if (info.does in ("copy", "map") and _memory_words(info)) or _by_address(info):
            yield info


def _memory_words(info: CallInfo) -> list[str]:
    return [name for name, kind in info.fields if kind == "handle:mem"]


def _by_address(info: CallInfo) -> bool:
    """Does it name the two sides of a copy, or what it fills, by addresses? The recorder does not change most copies that a structure
    describes."""
    if any(part in info.name for part in STRUCTURED):
        return False
    return info.does in ("copy", "fill") and any((name, kind) in info.fields for name in ENDS for kind in ("address", "pointer"))


# ---- other memory ----


def _other_memory(facts: Facts, writes: LastWrites) -> list[Redirect]:
    ranked: list[tuple[tuple[int, int, int], Redirect]] = []
    for info in _transfers(facts):
        if info.reads or info.maps:
            for group in by_line(facts, info):
                ranked += _of_group(facts, writes, info, group)
    return [one for _, one in sorted(ranked, key=lambda row: row[0])]


def _of_group(facts: Facts, writes: LastWrites, info: CallInfo, group: Group) -> Iterator[tuple[tuple[int, int, int], Redirect]]:
    used = _objects(facts, info, group, 0)
    last, position = used[-1], group.positions[-1]
    own, found = frozenset(group.positions), {}
    for other in set(_alike(facts, last, position).tolist()) - set(used):  # what is compared with itself is the same
        if (rank := _rank(writes, other, last, position, own)) is not None:
            found[other] = rank
    newer = _newer(facts, writes, group, used, own)
    best = min(found, key=lambda one: found[one], default=-1)
    if newer and (newer != {last: best}):
        yield (0, -position, len(used)), _of_memory(facts, group, newer, used)
    for other in sorted(found, key=lambda one: found[one]):
        yield (found[other][0], -position, len(used)), _of_memory(facts, group, {last: other}, used)


def _objects(facts: Facts, info: CallInfo, group: Group, side: int) -> list[int]:
    positions = np.array(group.positions)
    if not _memory_words(info):
        return [_at_address(facts, position, (READ, WRITE)[side]) for position in group.positions]
    handles = facts.trace.field(info, _memory_words(info)[side], positions)
    found: list[int] = facts.objects.live_at(handles, positions).tolist()
    return found


def _at_address(facts: Facts, position: int, how: int) -> int:
    """The memory that a copy reads or writes; -1: none that is known."""
    rows = [row for row in facts.ranges.at(position).tolist() if int(facts.ranges.table["how"][row]) == how and facts.ranges.live[row]]
    return int(facts.ranges.object[rows[0]]) if len(rows) == 1 else -1


def _newer(facts: Facts, writes: LastWrites, group: Group, used: list[int], own: frozenset[int]) -> dict[int, int]:
    """For each object that is read, the one like it that was written last by then; {} where that is another one each time, or where two
    would be read as one: what a program compares with itself is the same."""
    found: dict[int, int] = {}
    for one, position in list(zip(used, group.positions, strict=True))[-LOOKED_AT:]:
        others = {b: rank for b in _alike(facts, one, position).tolist() if (rank := _rank(writes, b, one, position, own)) and not rank[0]}
        best = min(others, key=lambda b: others[b], default=-1)
        if best < 0 or found.setdefault(one, best) != best:
            return {}
    return found if len(set(found.values())) == len(found) <= MOST_PAIRS // 2 else {}


def _rank(writes: LastWrites, other: int, read: int, position: int, own: frozenset[int]) -> tuple[int, int] | None:
    """How plausible it is that `other` was meant instead of `read`; less is more. None: it was not.

    It was written later, by the same kernel in turn with the one that is read; or nobody uses what a launch wrote there last.
    """
    mine, theirs = writes.before(other, position), writes.before(read, position)
    if mine in (NEVER, theirs) or writes.used_after(other, mine, own, by_host=True):
        return None
    if mine > theirs and writes.outputs(other) & writes.outputs(read):
        return 0, -mine
    if writes.used_after(other, mine, own) or writes.before(other, position, by_launch=True) == NEVER:
        return None
    return (0, -mine) if mine > theirs else None if writes.by_host(other) else (1, -mine)


def _of_memory(facts: Facts, group: Group, others: dict[int, int], used: list[int]) -> Redirect:
    """Where the other one is not read in this run, it is replaced as well: a program that ends at the first difference comes further, and
    may read the two in turn."""
    turned = {new: old for old, new in others.items() if new not in used}
    wish = f"{group.name}={group.wish}=0:{pairs(facts, turned | others)}"
    return Redirect(MEMORY_KIND, wish, group, others=tuple(others.items()))


def pairs(facts: Facts, others: dict[int, int]) -> str:
    """ "4>7,7>4": as the recorder counts the objects that the process made."""
    rows = facts.objects.rows_of(*MEMORY)
    counted = [row for row in facts.objects.rows_of("memory").tolist() if facts.objects.family(row) in COUNTED]
    rows = rows if len(rows) else np.array(counted, np.int64)
    born = facts.objects.table["born"][rows]
    numbers = {int(row): number for number, row in enumerate(rows[born >= 0][np.argsort(born[born >= 0], kind="stable")], 1)}
    return ",".join(f"{numbers[old]}>{numbers[new]}" for old, new in others.items() if old in numbers and new in numbers)


def _alike(facts: Facts, obj: int, position: int) -> NDArray[np.int64]:
    """Other objects of the same kind, context and size that live at a position."""
    table = facts.objects.table
    if obj < 0:
        return np.zeros(0, np.int64)
    mine = table[obj]
    same = (table["kind"] == mine["kind"]) & (table["size"] == mine["size"]) & (table["owner"] == mine["owner"])
    same &= table["family"] == mine["family"]
    same &= (table["born"] >= 0) & (table["born"] < position) & (table["gone"] > position)
    same[obj] = False
    rows = np.flatnonzero(same)
    if facts.objects.kind(obj) != "image":
        return rows
    shape = _shape(facts, obj)
    return np.array([row for row in rows.tolist() if _shape(facts, row) == shape], np.int64)


DESCRIBED = 64  # bytes of an image's description, before the handle of memory that it is made from


def _shape(facts: Facts, image: int) -> tuple[object, ...]:
    born = int(facts.objects.table["born"][image])
    info, record = facts.trace.info(born), facts.trace.record(born)
    arrays = [facts.trace.array(born, name)[:DESCRIBED] for name in ("format", "desc") if name in info.arrays]
    return (info.name, *arrays, *(record.get(name) for name in ("width", "height", "depth")))


# ---- direction ----


def _exchanged(facts: Facts, writes: LastWrites) -> list[Redirect]:
    """Copies that replace what a launch has computed first; of a function that copies in two directions, each of its callers before all."""
    ranked = []
    for info in _transfers(facts):
        for group in by_line(facts, info) if _goes_both_ways(info) else []:
            to, read = _objects(facts, info, group, 1), _objects(facts, info, group, 0)
            if read != to and (_memory_words(info) or _on_devices(facts, (*read, *to))):
                lost = sum(_is_lost(writes, *one) for one in list(zip(to, group.positions, strict=True))[-LOOKED_AT:])
                ranked.append(((lost == 0, len(to)), Redirect(EXCHANGE, f"{group.name}={group.wish}=exchange", group)))
    return [one for _, one in sorted(ranked, key=lambda row: row[0])]


def _on_devices(facts: Facts, memory: tuple[int, ...]) -> bool:
    """Is all of it memory of devices? What a program keeps in its own memory is compared with, too: a copy that went there the other way
    could replace what is right by what is wrong."""
    return all(one >= 0 and facts.objects.family(one) not in HOST_FAMILIES for one in memory)


def _goes_both_ways(info: CallInfo) -> bool:
    """Does it copy between two objects of the same kind, or between any memory?"""
    if _by_address(info):
        return bool(info.reads and info.writes and not info.host and info.word("src") is not None and info.word("dst") is not None)
    words = _memory_words(info)
    return len(words) == 2 and words[0].removeprefix("src_") == words[1].removeprefix("dst_")


def _is_lost(writes: LastWrites, obj: int, position: int) -> bool:
    last = writes.before(obj, position) if obj >= 0 else NEVER
    return last != NEVER and last == writes.before(obj, position, by_launch=True)


# ---- pitches, sizes and arguments ----


def _pitches(facts: Facts) -> list[Redirect]:
    ranked: list[tuple[int, Redirect]] = []
    for info in _transfers(facts):
        for group in by_line(facts, info):
            for one in pitches(facts, info, group.positions):
                wish = f"{group.name}={group.wish}=pitch{one.side}:{one.given}>{one.wanted}"
                ranked.append((one.rank, Redirect(PITCH, wish, group, one.side, pitch=one)))
    return [one for _, one in sorted(ranked, key=lambda row: row[0])]


def _sizes(facts: Facts) -> list[Redirect]:
    ranked: list[tuple[int, Redirect]] = []
    for info in filter(_by_address, _transfers(facts)):
        for group in by_line(facts, info):
            for one in sizes(facts, info, group.positions):
                wish = f"{group.name}={group.wish}=size:{one.given}>{one.wanted}"
                ranked.append((one.rank, Redirect(SIZE, wish, group, size=one)))
    return [one for _, one in sorted(ranked, key=lambda row: row[0])]


def _grids(facts: Facts) -> list[Redirect]:
    launches, found = facts.launches, []
    functions = np.where(launches.by_address, facts.kernels.functions(launches.kernel_row), -1)
    for function in dict.fromkeys(functions[functions >= 0].tolist()):
        rows = np.flatnonzero(functions == function)
        for group in groups(facts, launches.position[rows].tolist(), launches.compiled_name(int(rows[0]))):
            for one in grids(facts, group.positions):
                wish = f"{group.name}={group.wish}=grid{one.axis}:{one.groups}>{one.wanted}"
                found.append(Redirect(GRID, wish, group, one.axis, grid=one))
    return found


def _arguments(facts: Facts, writes: LastWrites) -> list[Redirect]:
    return [_of_argument(facts, one) for one in arguments(facts, writes, _alike)]


def _of_argument(facts: Facts, one: Argument) -> Redirect:
    wish = f"{one.group.name}={one.group.wish}=argument{one.index}:{pairs(facts, {one.given: one.wanted})}"
    return Redirect(ARGUMENT, wish, one.group, one.index, ((one.given, one.wanted),))
