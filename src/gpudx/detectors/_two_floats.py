"""Doubles whose bits are those of a float and of what lies behind it.

Launches by address are given a pointer to each value, and the driver copies as many bytes as the kernel declares: of a float that is
passed for a double, four bytes too many. A double that was computed looks otherwise: its lower half is zero, or has bits to its end.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpudx.detectors._groups import groups
from gpudx.facts import Facts

U64 = NDArray[np.uint64]
I64 = NDArray[np.int64]
LOWEST, HIGHEST = 0x3A800000, 0x49800000  # the floats from 1/1024 to 2^20
ROUND = (1 << 12) - 1  # floats that people write down end in zeros
WIDENED = (1 << 29) - 1  # a float that was converted to a double has zeros here
SUBNORMAL = 0x00100000  # upper halves below belong to doubles that nobody computes with: less than 3e-308
SIGN = 0x80000000


@dataclass(frozen=True)
class TwoFloats:
    """An argument that is declared as a double, in every launch of a kernel; `rows` are those of the launches' arguments."""

    rows: I64
    index: int
    as_float: float
    as_double: float


def two_floats(facts: Facts) -> Iterator[TwoFloats]:
    """Arguments whose every value looks so."""
    given, launches = facts.launches.arguments, facts.launches
    functions = facts.kernels.functions(launches.kernel_row)[given.launch]
    flags = facts.trace.schema.argument_flags
    lost = flags["unreadable"] | flags["cut"] | flags["local"]
    usable = launches.by_address[given.launch] & (given.size == 8) & ((given.flags & lost) == 0)
    for number, info in enumerate(facts.kernels.of_functions):
        doubles = [arg.index for arg in (info.args if info else {}).values() if arg.type == "double"]
        if not doubles:
            continue
        rows = np.flatnonzero(usable & (functions == number) & np.isin(given.index, doubles))
        for part in groups(rows, given.index[rows]):
            if looks_so(given.value[part]).all():
                yield _found(part, int(given.index[part[0]]), int(given.value[part[0]]))


def looks_so(values: U64) -> NDArray[np.bool_]:
    """The lower half is an ordinary float; the upper half is one as well, or makes a double that is nearly zero."""
    low, high = values & np.uint64(0xFFFFFFFF), values >> np.uint64(32)
    return _ordinary(low) & ((low & np.uint64(WIDENED)) != 0) & (_ordinary(high) | ((high & np.uint64(SIGN - 1)) < SUBNORMAL))


def _ordinary(half: U64) -> NDArray[np.bool_]:
    size = half & np.uint64(SIGN - 1)
    return (size >= LOWEST) & (size <= HIGHEST) & ((half & np.uint64(ROUND)) == 0)


def _found(rows: I64, index: int, value: int) -> TwoFloats:
    raw = struct.pack("<Q", value)
    return TwoFloats(rows, index, struct.unpack("<f", raw[:4])[0], struct.unpack("<d", raw)[0])
