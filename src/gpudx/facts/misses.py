"""Where an address lies, seen from the arguments of a launch: which memory it missed, and by how much."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gpudx.facts import Facts

NULL_PAGE = 1 << 16  # an address below this came from a null pointer
FAR = 1 << 40  # farther than this nothing was missed: the address is wild


@dataclass(frozen=True)
class Miss:
    """What an address is to a launch. `text` completes "the access was ..."."""

    kind: str  # null, freed (in freed memory, or nearest to it), past, before, inside, other, wild
    text: str
    argument: int | None = None
    object: int = -1
    distance: int = 0


@dataclass(frozen=True)
class _Given:
    """A pointer argument, and the memory it points into."""

    argument: int
    word: int
    inside: bool
    value: int
    object: int

    @property
    def name(self) -> str:
        return f"argument {self.argument}" + (f", at byte {self.word} of it" if self.inside else "")


def explain(
    facts: Facts, launch: int, address: int, *, writes: bool = False, through: tuple[int, int] | None = None
) -> Miss:
    """Which memory of the launch (a row of Launches) an access at `address` missed, and by how much.

    An access that `writes` did not go through a pointer to what may only be read. `through` is the pointer that it did go through,
    where that is known: the number of an argument, and the byte of it.
    """
    given = _given(facts, launch, writes)
    if through is not None:
        given = [one for one in given if (one.argument, one.word) == through]
    position = int(facts.launches.position[launch])
    return (
        _null(given, address)
        or _freed(facts, given, address, position)
        or _inside(facts, given, address, position)
        or _nearest(facts, given, address, position)
    )


def least(seen: Sequence[tuple[Miss, int]]) -> tuple[Miss, int] | None:
    """Of several accesses (what each missed, its address) the one that missed least: it tells whose memory it was. None: no
    access missed what the launch was given."""
    outside = [pair for pair in seen if pair[0].kind != "inside"]
    return min(outside, key=lambda pair: (pair[0].object < 0, pair[0].distance), default=None)


def _given(facts: Facts, launch: int, writes: bool) -> list[_Given]:
    pointers, info = facts.launches.pointers, facts.launches.info(launch) if writes else None
    read_only = {index for index, argument in info.args.items() if argument.read_only} if info else set()
    return [
        _Given(
            int(pointers.index[r]),
            int(pointers.word[r]),
            bool(pointers.inside[r]),
            int(pointers.value[r]),
            int(pointers.object[r]),
        )
        for r in pointers.of(launch)
        if int(pointers.index[r]) not in read_only
    ]


def _null(given: list[_Given], address: int) -> Miss | None:
    if address >= NULL_PAGE:
        return None
    nulls = [g for g in given if g.value < NULL_PAGE and g.value <= address]
    whose = f" ({nulls[0].name})" if len(nulls) == 1 else ""
    return Miss("null", f"null + {address:#x}{whose}", nulls[0].argument if len(nulls) == 1 else None)


def _freed(facts: Facts, given: list[_Given], address: int, position: int) -> Miss | None:
    row = facts.memory.one(address, position)
    if row < 0 or _live(facts, row, position):
        return None
    who = next((g for g in given if g.object == row), None)
    whose = f" ({who.name})" if who else ""
    text = f"inside freed {facts.objects.label(row)}{whose}"
    return Miss("freed", text, who.argument if who else None, row, facts.memory.offset(row, address))


def _live(facts: Facts, row: int, position: int) -> bool:
    return bool(facts.memory.live(np.array([row]), np.array([position]))[0])


def _inside(facts: Facts, given: list[_Given], address: int, position: int) -> Miss | None:
    row = facts.memory.one(address, position)
    who = max((g for g in given if g.object == row and g.value <= address), key=lambda g: g.value, default=None)
    who = who or next((g for g in given if g.object == row), None)
    if row < 0 or who is None:
        return None
    offset = facts.memory.offset(row, address)
    text = f"inside {facts.objects.label(row)} ({who.name}), {_bytes(offset)} from its start"
    return Miss("inside", text, who.argument, row, offset)


def _nearest(facts: Facts, given: list[_Given], address: int, position: int) -> Miss:
    """The argument's memory that the address is least far from."""
    found = sorted((_distance(facts, g, address) for g in given if g.object >= 0), key=lambda f: (f[0], f[2].inside))
    other = facts.memory.one(address, position)
    if not found or found[0][0] > FAR:
        return _elsewhere(facts, other)
    distance, past, one = found[0]
    label = f"{facts.objects.label(one.object)} ({one.name})"
    where = f"{_bytes(distance)} {'past the end' if past else 'before the start'} of {label}"
    where = f"right at the end of {label}" if past and not distance else where
    tail = f", inside {facts.objects.label(other)}, which the launch was not passed" if other >= 0 else ""
    kind, rival = "past" if past else "before", _as_near(found)
    if rival is None and not _live(facts, one.object, position):
        gone = where.replace(label, f"freed {label}")
        return Miss("freed", gone + tail, one.argument, one.object, distance)
    if rival is None:
        return Miss(kind, where + tail, one.argument, one.object, distance)
    doubt = f"; {facts.objects.label(rival.object)} ({rival.name}) is about as near, so it is not known which of them was meant"
    return Miss(kind, where + tail + doubt, distance=distance)


def _distance(facts: Facts, one: _Given, address: int) -> tuple[int, bool, _Given]:
    """How far an address is from an argument's memory, and whether it lies past its end."""
    begin = int(facts.objects.table["handle"][one.object])
    end = begin + int(facts.objects.table["size"][one.object])
    return (address - end, True, one) if address >= end else (begin - address, False, one)


def _as_near(found: list[tuple[int, bool, _Given]]) -> _Given | None:
    """Another memory that is less than twice as far away as the nearest: from far, neighbours look alike."""
    near = found[0]
    return next((f[2] for f in found if f[2].object != near[2].object and f[0] < 2 * near[0]), None)


def _elsewhere(facts: Facts, other: int) -> Miss:
    if other >= 0:
        label = facts.objects.label(other)
        return Miss("other", f"inside {label}, which the launch was not passed", None, other)
    return Miss("wild", "in no recorded memory, and near none that the launch was passed")


def _bytes(number: int) -> str:
    return f"{number:,} {'byte' if number == 1 else 'bytes'}"
