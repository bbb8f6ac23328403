"""Offsets of copies that may have been given in elements: inside the buffer as they are, and also if they are multiplied."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain

import numpy as np

from gpudx.facts import Facts
from gpudx.trace import CallInfo

MOST = 6
SIDES = {"b": ("buffer", "offset"), "s": ("src_buffer", "src_offset"), "d": ("dst_buffer", "dst_offset")}
ELEMENT = 4  # bytes, where no kernel says what the buffer consists of


@dataclass(frozen=True)
class Offset:
    """One copy, the side of it that has the offset, and the bytes of an element. `alike`: how many copies of one place in the program,
    with the same size, have an offset; each another one, if there are several."""

    position: int
    side: str
    offset: int
    size: int
    element: int
    object: int
    alike: int = 1

    @property
    def wish(self) -> str:
        """As the recorder is asked for it (native/opencl/offsets.h)."""
        return f"{self.side}:{self.offset if self.alike == 1 else 0}:{self.size}:{self.element}"


class Offsets:
    def __init__(self, facts: Facts) -> None:
        self._facts = facts

    @property
    def wishes(self) -> tuple[str, ...]:
        """Each different one, as often as the experiment can be made."""
        return tuple(dict.fromkeys(one.wish for one in self.found))[:MOST]

    @cached_property
    def found(self) -> list[Offset]:
        trace = self._facts.trace
        copies = tuple(call for call in trace.schema.doing("copy") if call.word("size") is not None)
        positions = sorted(position for call in copies for position in self._with_offset(call))
        places: dict[tuple[int, ...], dict[int, Offset]] = {}
        for one in chain.from_iterable(map(self._of, positions)):
            place = (int(trace.column("caller", np.array([one.position]))[0]), ord(one.side), one.size, one.element, one.object)
            places.setdefault(place, {}).setdefault(one.offset, one)
        return [replace(next(iter(same.values())), alike=len(same)) for same in places.values()]

    def _with_offset(self, call: CallInfo) -> list[int]:
        """Most programs copy whole buffers, thousands of times: those are left out without a look at each."""
        trace = self._facts.trace
        positions = trace.select(call)
        offsets = [trace.field(call, name, positions) != 0 for _, name in SIDES.values()]
        found: list[int] = positions[np.any(offsets, axis=0) & (trace.column("status", positions) == 0)].tolist()
        return found

    def _of(self, position: int) -> Iterator[Offset]:
        record, sizes = self._facts.trace.record(position), self._facts.objects.table["size"]
        for side, (memory, name) in SIDES.items():
            offset, size = record.get(name, 0), record.get("size", 0)
            row = self._object(record.get(memory, 0), position) if offset and size else -1
            element = self._element(row) if row >= 0 else 0
            if element > 1 and offset * element + size <= int(sizes[row]):
                yield Offset(position, side, offset, size, element, row)

    def _object(self, handle: int, position: int) -> int:
        return (
            int(self._facts.objects.at(np.array([handle], np.uint64), np.array([position], np.int64))[0])
            if handle
            else -1
        )

    def _element(self, row: int) -> int:
        """Bytes of what the kernels take the buffer for."""
        args, launches = self._facts.launches.arguments, self._facts.launches
        for at in np.flatnonzero(args.object == row).tolist():
            info = launches.info(int(args.launch[at]))
            declared = info.args.get(int(args.index[at])) if info else None
            if declared is not None and declared.element:
                return declared.element
        return ELEMENT
