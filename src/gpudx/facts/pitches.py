"""Row pitches of transfers, and others that the numbers of the record suggest in their place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from gpudx.facts import Facts
from gpudx.facts.accesses import READ, WRITE
from gpudx.facts.once import once
from gpudx.trace import CallInfo

MOST_CALLS = 64  # of one line that are looked at
HOST = ("host_row_pitch", "row_pitch")
PLAIN = {"src_pitch": READ, "dst_pitch": WRITE, "pitch": WRITE}  # of APIs that name memory by addresses, in the order of the recorder
LARGEST = 1 << 40
WHOLE, OWN, NUMBER, OTHER, TIGHT = range(5)  # where a pitch is from, the most plausible first


@dataclass(frozen=True)
class Pitch:
    """`side`: which of the call's pitches; `given`: as it is passed, where 0 stands for that of the region; `now`: bytes, so."""

    side: int
    name: str
    given: int
    now: int
    wanted: int
    rank: int


@dataclass(frozen=True)
class Box:
    """One side of a transfer: bytes of a row that are copied, rows and layers, from an origin on."""

    memory: int  # row of Objects, -1: of the host
    given: int
    origin: tuple[int, ...]
    region: tuple[int, ...]

    @property
    def now(self) -> int:
        return self.given or self.region[0]


def pitches(facts: Facts, info: CallInfo, positions: Iterable[int]) -> Iterator[Pitch]:
    """For calls of one line: each pitch that it passes, and what may be meant instead."""
    names = _names(info)
    some = list(positions)[:MOST_CALLS]
    for side, name in enumerate(names):
        boxes = [box for at in some if (box := _box(facts, info, at, name)) is not None]
        for given in sorted({box.given for box in boxes}):
            mine = [box for box in boxes if box.given == given]
            others = [box for at in some for other in names if other != name and (box := _box(facts, info, at, other)) is not None]
            if any(box.region[1] > 1 for box in mine):
                yield from _suggested(facts, Pitch(side, name, given, mine[0].now, 0, 0), mine, others)


@once
def device_boxes(facts: Facts) -> tuple[tuple[int, str, Box], ...]:
    """Transfers of several rows of a buffer: the call, the name of the pitch on the buffer's side, and what is transferred."""
    found = []
    for info in facts.trace.schema.doing("copy"):
        for name in (name for name in _names(info) if name not in HOST):
            for position in facts.trace.select(info)[:MOST_CALLS].tolist():
                box = _box(facts, info, position, name)
                if box is not None and box.memory >= 0 and box.region[1] > 1 and box.region[2] == 1:
                    found.append((position, name, box))
    return tuple(found)


def _names(info: CallInfo) -> list[str]:
    if plain := [name for name in PLAIN if info.word(name) is not None and info.does in ("copy", "fill")]:
        return plain
    return [name for name, _ in info.fields if name.endswith("row_pitch") and info.does == "copy"]


def _box(facts: Facts, info: CallInfo, position: int, name: str) -> Box | None:
    """One side of a call. Of images the region is in pixels: their own side has no pitch, and that of the host is left out where none is
    passed."""
    if name in PLAIN:
        return _plain_box(facts, position, name)
    record, side = facts.trace.record(position), name.removesuffix("row_pitch").rstrip("_")
    region = _three(facts, position, "region")
    origin = _three(facts, position, f"{side}_origin" if side else "origin")
    given = record.get(name, 0)
    if len(region) != 3 or len(origin) != 3 or (not side and not given):
        return None
    word = next((word for word in (side, f"{side}_buffer") if word in record), "") if side and side != "host" else ""
    memory = int(facts.objects.live_at(np.array([record[word]], np.uint64), np.array([position]))[0]) if word else -1
    if not side:  # an image's: bytes of a row are not known here
        region, origin = (0, region[1], region[2]), (0, 0, 0)
    return Box(memory, given, origin, region)


def _plain_box(facts: Facts, position: int, name: str) -> Box | None:
    """The same of a call that names memory by an address, which may be anywhere in it: the distance is that of the first byte."""
    ranges = facts.ranges
    row = next((row for row in ranges.at(position).tolist() if int(ranges.table["how"][row]) == PLAIN[name]), None)
    if row is None:
        return None
    one, memory = ranges.table[row], int(ranges.object[row])
    before = int(one["address"]) - int(facts.objects.table["handle"][memory]) if memory >= 0 else 0
    return Box(memory, facts.trace.record(position)[name], (before, 0, 0), (int(one["width"]), int(one["height"]), 1))


def _three(facts: Facts, position: int, name: str) -> tuple[int, ...]:
    return tuple(np.frombuffer(facts.trace.array(position, name), np.uint64).tolist())


def _suggested(facts: Facts, pitch: Pitch, mine: list[Box], others: list[Box]) -> Iterator[Pitch]:
    memory, found = mine[0].memory, dict[int, int]()
    known = [box.memory for box in (*mine, *others) if box.memory >= 0]
    numbers = _numbers(facts, known[0]) if known else []
    size = int(facts.objects.table["size"][memory]) if memory >= 0 else 0
    rows = {number for number, _ in numbers} | {box.origin[1] + box.region[1] for box in mine}
    scaled = [number * element for number, element in numbers]
    for wanted, rank in (
        *((one, WHOLE) for one in scaled if size and size % one == 0 and size // one in rows),
        *((one, OWN) for one in _used_with(facts).get(memory, ()) if memory >= 0),
        *((one, NUMBER) for one in scaled),
        *((box.now, OTHER) for box in others),
        *((box.region[0], TIGHT) for box in mine),
    ):
        if wanted != pitch.now and all(_fits(box, wanted, size) for box in mine):
            found.setdefault(wanted, rank)
    for wanted, rank in found.items():
        yield Pitch(pitch.side, pitch.name, pitch.given, pitch.now, wanted, rank)


def _fits(box: Box, pitch: int, size: int) -> bool:
    """Can the driver take it? What lies behind the host's pointer is not known."""
    end = (box.origin[1] + box.region[1] - 1) * pitch + box.origin[0] + box.region[0]
    return box.region[0] <= pitch <= LARGEST and (not size or box.region[2] > 1 or end <= size)


@once
def _used_with(facts: Facts) -> dict[int, tuple[int, ...]]:
    """Pitches that the transfers of each buffer pass."""
    found: dict[int, set[int]] = {}
    for info in (*facts.trace.schema.doing("copy"), *facts.trace.schema.doing("fill")):
        for name in _names(info):
            for position in facts.trace.select(info)[:MOST_CALLS].tolist():
                box = _box(facts, info, position, name)
                if box is not None and box.memory >= 0:
                    found.setdefault(box.memory, set()).add(box.now)
    return {memory: tuple(sorted(pitch)) for memory, pitch in found.items()}


def _numbers(facts: Facts, memory: int) -> list[tuple[int, int]]:
    """(number, bytes of an element) that kernels are passed beside a buffer, the largest first."""
    launches, found = facts.launches, set()
    rows = np.unique(launches.arguments.launch[launches.arguments.object == memory])
    functions = facts.kernels.functions(launches.kernel_row[rows])
    for row in rows[np.unique(functions, return_index=True)[1]].tolist():
        values = launches.values(row)
        element = next((one["declared"].element for one in values if one["object"] == memory and one["declared"]), None) or 1
        for one in values:
            number = int.from_bytes(one["bytes"], "little") if one["object"] < 0 and one["size"] in (4, 8) else 0
            if 1 < number < LARGEST and not (one["declared"] and one["declared"].scalar in ("float", "double")):
                found.add((number, element))
    return sorted(found, reverse=True)
