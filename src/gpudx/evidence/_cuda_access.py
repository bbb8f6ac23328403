"""Which addresses a faulting instruction accessed: the code names the registers of the address, the dump has them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gpudx.evidence import _cuda_exceptions as exceptions
from gpudx.evidence import _sass as sass
from gpudx.evidence._cuda_dump import Access, Addresses
from gpudx.evidence._cuda_tables import Tables
from gpudx.evidence._elf import Ints, Table


@dataclass(frozen=True)
class Flat:
    """Every thread on the device, with everything above it filled in."""

    lanes: Table  # as LANES
    rows: Ints  # row in the table of lanes
    warp: Ints  # row in the table of warps
    sm: Ints  # row in the table of SMs
    active: npt.NDArray[np.bool_]


def access_of(
    tables: Tables, flat: Flat, exception: int, code: sass.Code, number: int, rows: Ints
) -> tuple[Access | None, str]:
    """What the instruction of that number accessed in the threads of `rows`; or None and why it is not known."""
    memory = sass.decode(code.word(number), code.sm)
    if memory is None:
        return None, "the faulting instruction is not one whose address can be decoded"
    if memory.name == "LDGSTS" and exception not in exceptions.UNMAPPED:
        return None, "the instruction copies from global to shared memory, and either address may be at fault"
    usable, reason = _unchanged(flat, code, memory, number, rows)
    if reason:
        return None, reason
    threads, addresses = _Lanes(tables, flat, memory).addresses(usable)
    if not len(threads):
        return None, "the registers of the faulting threads are not in the dump"
    threads, addresses = _offending(tables, flat, exception, memory, threads, addresses)
    lowest, highest = int(addresses.min()), int(addresses.max())
    return Access(memory.kind, memory.space, memory.size, str(memory), lowest, highest, addresses, threads), ""


def _unchanged(flat: Flat, code: sass.Code, memory: sass.Memory, number: int, rows: Ints) -> tuple[Ints, str]:
    """The threads whose address registers are as they were; if there are none, why."""
    reasons: dict[int, str | None] = {}
    for pc in np.unique(flat.lanes["pc"][rows]).tolist():
        stop, rest = divmod(pc - code.start, sass.INSTRUCTION)
        inside = not rest and 0 <= stop < len(code)
        reasons[pc] = code.changed(memory, number, stop) if inside else "the warp stopped in another function"
    usable = np.array([reasons[pc] is None for pc in flat.lanes["pc"][rows].tolist()], bool)
    return rows[usable], "" if usable.any() else next(reason for reason in reasons.values() if reason)


class _Lanes:
    """Address arithmetic of one instruction over many lanes."""

    def __init__(self, tables: Tables, flat: Flat, memory: sass.Memory) -> None:
        self.tables, self.flat, self.memory = tables, flat, memory
        self.mask = (1 << 64) - 1 if memory.wide_sum else (1 << 32) - 1

    def addresses(self, rows: Ints) -> tuple[Ints, Addresses]:
        """Of the lanes that executed the instruction and whose registers are there."""
        memory, threads, found = self.memory, [], []
        uniform = self._uniform(rows)
        for row in rows.tolist():
            base, added = self._base(row), uniform.get(int(self.flat.warp[row])) if memory.uniform is not None else 0
            if base is not None and added is not None and self._executed(row):
                threads.append(row)
                found.append((base * memory.scale + added + memory.offset) & self.mask)
        return np.array(threads, np.int64), np.array(found, np.uint64)

    def _base(self, row: int) -> int | None:
        memory = self.memory
        if memory.register == sass.ZERO:
            return 0
        words = self.tables.words(self.tables.registers, int(self.flat.rows[row]))
        last = memory.register + (1 if memory.wide else 0)
        if last >= len(words):
            return None
        return int(words[memory.register]) | (int(words[last]) << 32 if memory.wide else 0)

    def _uniform(self, rows: Ints) -> dict[int, int]:
        """The value of the uniform register in each warp: a pair where addresses are 64 bits."""
        number, values = self.memory.uniform, {}
        for warp in np.unique(self.flat.warp[rows]).tolist() if number is not None else ():
            words = self.tables.words(self.tables.uniform_registers, warp)
            if number is not None and number + 1 < len(words):
                values[warp] = int(words[number]) | (int(words[number + 1]) << 32 if self.memory.wide_sum else 0)
        return values

    def _executed(self, row: int) -> bool:
        """Whether the lane's predicate let it take part."""
        memory = self.memory
        if memory.guard == sass.TRUE:
            return not memory.negated
        words = self.tables.words(self.tables.predicates, int(self.flat.rows[row]))
        return memory.guard < len(words) and bool(words[memory.guard]) != memory.negated


def _offending(
    tables: Tables, flat: Flat, exception: int, memory: sass.Memory, threads: Ints, addresses: Addresses
) -> tuple[Ints, Addresses]:
    """The threads that are at fault, where the rule is known; else all."""
    size = np.uint64(memory.size or 1)
    bad = np.ones(len(threads), bool)
    if exception in exceptions.MISALIGNED:
        bad = addresses % size != 0
    elif memory.space == "shared":
        room = tables.warps.table["shared"][flat.warp[threads]].astype(np.uint64)
        bad = (room > 0) & (addresses + size > room)
    return (threads[bad], addresses[bad]) if bad.any() else (threads, addresses)
