"""Where blocks of memory lay when it went wrong: live, freed, too small, with their guards and the address that faulted.

Addresses are spread over terabytes, so places on the map grow with the logarithm of what lies between two edges: order
and neighbourhood are true, lengths are not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpudx.facts import Facts
from gpudx.facts.objects import KINDS, MEMORY
from gpudx.figures.accused import Accused
from gpudx.figures.columns import column
from gpudx.model.drawing import BLOCKS, Column, MemoryMap, Point
from gpudx.text import plural

I64 = NDArray[np.int64]
U64 = NDArray[np.uint64]
MOST_BLOCKS = 20_000
MOST_NEAR = 8
FAR = 1 << 32  # an address further than this from all blocks is none of this memory
LARGEST = 1 << 47  # bytes; larger sizes are nonsense
FAULT = "the fault address"
GIVEN = "the value given"
NEEDED = "the end that it needs"  # of the block that is too small
LIVE, FREED, SMALL, MEANT = range(len(BLOCKS))


@dataclass(frozen=True)
class _Blocks:
    """Rows of Objects with their addresses, those of their guards, and how they stood."""

    row: I64
    begin: U64
    size: U64
    low: U64
    high: U64
    state: NDArray[np.uint8]
    part: NDArray[np.uint8]  # 1: a sub-buffer, inside another block
    left_out: int = 0

    @property
    def end(self) -> U64:
        return self.begin + self.size


def of(facts: Facts, accused: Accused) -> MemoryMap | None:
    """The map of one process; None if it had no memory."""
    mine = facts.trace.pid == accused.pid
    as_of = accused.guilty if mine and accused.guilty else len(facts.trace)
    by_address, found = _found(facts, as_of)
    if not len(found.row):
        return None
    blocks = _stand(facts, found, as_of, accused if mine else Accused())
    wanted = _wanted(blocks, accused) if mine and by_address else {}
    near = {text: at for text, at in wanted.items() if _distance(blocks, at) <= FAR}
    edges, places = _places(blocks, near)
    return MemoryMap(
        pid=facts.trace.pid,
        as_of=as_of,
        by_address=by_address,
        width=int(places[-1]),
        columns=_columns(facts, blocks, edges, places, as_of),
        kinds=KINDS,
        points=tuple(Point(text, at, _at(edges, places, at)) for text, at in near.items()),
        near=_near(facts, blocks, near, as_of, by_address),
        not_placed=_not_placed(accused, near) if mine else "",
        left_out=blocks.left_out,
    )


def _not_placed(accused: Accused, near: dict[str, int]) -> str:
    return f"{accused.fault:#x}" if accused.fault is not None and accused.fault not in near.values() else ""


# ---- which blocks ----


def _found(facts: Facts, as_of: int) -> tuple[bool, _Blocks]:
    """Memory that was made before a call, and whether its addresses are known."""
    rows = facts.memory.rows
    table = facts.objects.table
    if len(rows):
        rows = rows[table["born"][rows] < as_of]
        return True, _guarded(facts, rows, table["handle"][rows].copy())
    if any(block.object >= 0 for block in facts.fences.blocks):
        blocks = {b.object: b.address for b in facts.fences.blocks if b.object >= 0 and b.made < as_of}
        whole = np.array(list(blocks), np.int64), np.array(list(blocks.values()), np.uint64)
        return True, _guarded(facts, *_with_parts(facts, *whole, as_of))
    rows = facts.objects.rows_of(*MEMORY)
    rows = rows[(table["born"][rows] >= 0) & (table["born"][rows] < as_of) & (table["parent"][rows] < 0)]
    ends = np.cumsum(np.minimum(table["size"][rows], LARGEST))
    return False, _guarded(facts, *_with_parts(facts, rows, ends - np.minimum(table["size"][rows], LARGEST), as_of))


def _with_parts(facts: Facts, rows: I64, begin: U64, as_of: int) -> tuple[I64, U64]:
    """The blocks and, behind them, their sub-buffers."""
    table = facts.objects.table
    places = dict(zip(rows.tolist(), begin.tolist(), strict=True))
    parts = [row for row in np.flatnonzero(table["parent"] >= 0).tolist() if table["born"][row] < as_of]
    found = {
        row: places[parent] + int(table["offset"][row])
        for row in parts
        if (parent := int(table["parent"][row])) in places
    }
    new = [row for row in found if row not in places]
    return (
        np.concatenate([rows, np.array(new, np.int64)]),
        np.concatenate([begin, np.array([found[row] & 0xFFFF_FFFF_FFFF_FFFF for row in new], np.uint64)]),
    )


def _guarded(facts: Facts, rows: I64, begin: U64) -> _Blocks:
    size = np.minimum(facts.objects.table["size"][rows], np.uint64(LARGEST))
    size = np.minimum(size, np.iinfo(np.uint64).max - begin)
    low, high = begin.copy(), begin + size
    fenced = {block.object: block for block in facts.fences.blocks}
    for place, row in enumerate(rows.tolist()) if fenced else ():
        block = fenced.get(row)
        if block is not None and block.begin <= block.address < block.end:
            low[place], high[place] = block.begin, max(block.end, int(high[place]))
    part = (facts.objects.table["parent"][rows] >= 0).astype(np.uint8)
    return _Blocks(rows, begin, size, low, high, np.zeros(len(rows), np.uint8), part)


def _stand(facts: Facts, found: _Blocks, as_of: int, accused: Accused) -> _Blocks:
    """How each stood at a call, of at most MOST_BLOCKS: first those that are meant, then live ones, then the last freed."""
    gone = facts.objects.table["gone"][found.row]
    freed = gone < as_of - 1
    state = np.where(freed, FREED, LIVE).astype(np.uint8)
    meant = np.array([facts.objects.label(int(row)) == accused.allocation for row in found.row], bool)
    state[meant & ~freed] = SMALL if accused.missing else MEANT
    first = np.lexsort((np.where(freed, -gone, -found.size.astype(np.int64)), freed, ~meant))[:MOST_BLOCKS]
    kept = np.sort(first)
    kept = kept[np.argsort(found.begin[kept], kind="stable")]
    return _Blocks(
        row=found.row[kept],
        begin=found.begin[kept],
        size=found.size[kept],
        low=found.low[kept],
        high=found.high[kept],
        state=state[kept],
        part=found.part[kept],
        left_out=len(found.row) - len(kept),
    )


# ---- addresses ----


def _wanted(blocks: _Blocks, accused: Accused) -> dict[str, int]:
    """Addresses that the diagnosis speaks of."""
    same = accused.fault == accused.value
    wanted = {FAULT: accused.fault, GIVEN: None if same else accused.value}
    small = np.flatnonzero(blocks.state == SMALL)
    if accused.missing and len(small):
        wanted[NEEDED] = int(blocks.end[small[0]]) + accused.missing
    return {text: at for text, at in wanted.items() if at is not None and 0 <= at < 1 << 64}


def _distance(blocks: _Blocks, address: int) -> int:
    """Bytes to the nearest block or guard; 0 inside one."""
    at = np.uint64(address)
    before = np.where(blocks.low > at, blocks.low - at, 0)
    after = np.where(blocks.high <= at, at - blocks.high, 0)
    return int(np.maximum(before, after).min())


def _places(blocks: _Blocks, points: dict[str, int]) -> tuple[U64, I64]:
    """All edges in order of address, and their places on the map."""
    ends = (blocks.begin, blocks.end, blocks.low, blocks.high, np.array(list(points.values()), np.uint64))
    edges = np.unique(np.concatenate(ends))
    change = np.bincount(np.searchsorted(edges, blocks.begin), minlength=len(edges))
    change = change - np.bincount(np.searchsorted(edges, blocks.end), minlength=len(edges))
    used = np.cumsum(change)[:-1] > 0
    length = np.diff(edges).astype(np.float64)
    grown = np.log2(2 + length / 64)
    steps = np.where(used, 16 * grown, np.minimum(6 * grown, 96)).astype(np.int64) + 1
    return edges, np.append(0, np.cumsum(steps))


def _at(edges: U64, places: I64, address: int) -> int:
    return int(places[np.searchsorted(edges, np.uint64(address))])


# ---- telling ----


def _columns(facts: Facts, blocks: _Blocks, edges: U64, places: I64, as_of: int) -> dict[str, Column]:
    table = facts.objects.table[blocks.row]
    ends = {"begin": blocks.begin, "end": blocks.end, "low": blocks.low, "high": blocks.high}
    freed = np.where(table["died"] < as_of - 1, table["died"] + 1, 0)
    return {
        **{name: column(places[np.searchsorted(edges, one)], 4) for name, one in ends.items()},
        "address": column(blocks.begin, 8),
        "size": column(blocks.size, 8),
        "state": column(blocks.state, 1),
        "part": column(blocks.part, 1),
        "kind": column(table["kind"], 1),
        "number": column(table["number"], 4),
        "made": column(table["born"] + 1, 4),
        "freed": column(freed, 4),
    }


def _near(
    facts: Facts, blocks: _Blocks, points: dict[str, int], as_of: int, by_address: bool
) -> tuple[tuple[str, ...], ...]:
    """The blocks that are meant, and those below and above each point with how far it is; in order of address."""
    meant = np.flatnonzero(blocks.state >= SMALL).tolist()[:MOST_NEAR]
    chosen: dict[int, list[str]] = {one: [] for one in meant}
    for text, at in points.items():
        for one in meant if text == NEEDED else _beside(blocks, at):
            where = _where(text, at - int(blocks.begin[one]), int(blocks.size[one]))
            chosen.setdefault(one, []).append(where)
    kept = sorted(chosen, key=lambda one: int(blocks.begin[one]))[:MOST_NEAR]
    return tuple(_row(facts, blocks, one, "; ".join(chosen[one]), as_of, by_address) for one in kept)


def _beside(blocks: _Blocks, address: int) -> list[int]:
    """The block that an address lies in, else the nearest before and after it."""
    at = np.uint64(address)
    inside = np.flatnonzero((blocks.begin <= at) & (at < blocks.end))
    if len(inside):
        return inside[-1:].tolist()  # type: ignore[no-any-return]
    before, after = np.flatnonzero(blocks.end <= at), np.flatnonzero(blocks.begin > at)
    nearest = [before[np.argmax(blocks.end[before])]] if len(before) else []
    return [int(one) for one in (*nearest, *after[:1])]


def _row(facts: Facts, blocks: _Blocks, one: int, where: str, as_of: int, by_address: bool) -> tuple[str, ...]:
    row, begin, size = int(blocks.row[one]), int(blocks.begin[one]), int(blocks.size[one])
    entry = facts.objects.table[row]
    died = int(entry["died"])
    return (
        facts.objects.label(row),
        f"{begin:#x}" if by_address else "not known",
        f"{size:,}",
        BLOCKS[int(blocks.state[one])],
        f"{int(entry['born']) + 1:,}",
        f"{died + 1:,}" if died < as_of - 1 else "",
        where,
    )


def _where(text: str, offset: int, size: int) -> str:
    if offset < 0:
        return f"{text} is {plural(-offset, 'byte')} before it"
    if offset < size:
        return f"{text} is {plural(offset, 'byte')} into it" if offset else f"{text} is its start"
    return (
        f"{text} is {plural(offset - size, 'byte')} past its end" if offset > size else f"{text} is right past its end"
    )
