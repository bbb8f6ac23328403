"""Transfers between host and device that may go on after their call has returned, numbered as the recorder numbers them.

The numbers let an experiment complete some of them in their call and leave the others alone (native/core/transfers.h).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpudx.facts.order.waits import is_queued
from gpudx.facts.sites import Sites
from gpudx.trace import CallInfo, Trace

I64 = NDArray[np.int64]
ON_DEVICES = ("DtoD", "DtoA", "AtoD", "AtoA", "Peer")  # in names of copies without host memory
MOST_RANGES = 256  # that the recorder reads
MOST_LINES = 400  # transfers whose line is looked up; further ones are told apart by the address of the call


@dataclass(frozen=True)
class Transfers:
    """The transfers of one line of the program: their positions, and their numbers from 1 on."""

    positions: tuple[int, ...]
    numbers: tuple[int, ...]

    @property
    def ranges(self) -> str:
        """ "1-3,7", as the recorder is asked for them; "" where that are too many."""
        parts = [f"{first}-{last}" if first < last else str(first) for first, last in _runs(self.numbers)]
        return ",".join(parts) if len(parts) <= MOST_RANGES else ""


def by_line(trace: Trace, sites: Sites) -> list[Transfers]:
    """In the order of the first transfer of each line."""
    groups: dict[tuple[int, str], list[tuple[int, int]]] = {}
    positions = early(trace)
    callers = trace.column("caller", positions)
    for number, position in enumerate(positions.tolist(), 1):
        line = (sites.at(position).source or "") if number <= MOST_LINES else ""
        key = (int(trace.call[position]), line or f"{callers[number - 1]:#x}")
        groups.setdefault(key, []).append((position, number))
    return [Transfers(*map(tuple, zip(*pairs, strict=True))) for pairs in groups.values()]


def early(trace: Trace) -> I64:
    """Positions of the calls that may return before their transfer is complete. The recorder counts those of OpenCL before the
    driver has seen them, others only where the driver took them."""
    found = [np.zeros(0, np.int64)]
    for info in trace.calls_made:
        if info.word("blocking") is not None:
            positions = trace.select(info)
            found.append(positions[trace.field(info, "blocking", positions) == 0])
        elif _is_async(info):
            positions = trace.select(info)
            found.append(positions[trace.column("status", positions) == 0])
    return np.sort(np.concatenate(found))


def _is_async(info: CallInfo) -> bool:
    return info.does == "copy" and is_queued(info) and not any(part in info.name for part in ON_DEVICES)


def _runs(numbers: Iterable[int]) -> list[tuple[int, int]]:
    runs: list[tuple[int, int]] = []
    for number in numbers:
        if runs and runs[-1][1] == number - 1:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    return runs
