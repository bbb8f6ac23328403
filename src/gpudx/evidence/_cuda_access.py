"""Which addresses a faulting instruction accessed: the code names the registers of the address, the dump has them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gpudx.elf.sections import Ints, Table
from gpudx.evidence import _cuda_exceptions as exceptions
from gpudx.evidence import _sass as sass
from gpudx.evidence._cuda_dump import Access, Addresses
from gpudx.evidence._cuda_tables import Tables

ALL = (1 << 64) - 1
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Flat:
    """Every thread on the device, with everything above it filled in."""

    lanes: Table  # as LANES
    rows: Ints  # row in the table of lanes
    warp: Ints  # row in the table of warps
    sm: Ints  # row in the table of SMs
    active: Mask


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
    threads, addresses = _addresses(tables, flat, memory, usable)
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


def _addresses(tables: Tables, flat: Flat, memory: sass.Memory, rows: Ints) -> tuple[Ints, Addresses]:
    """Addresses of the lanes that executed the instruction and whose registers are there; sums wrap as the device's do."""
    total, there = _register(tables, flat, memory, rows)
    added, known = _uniform(tables, flat, memory, rows)
    there &= known & _executed(tables, flat, memory, rows)
    total = total * np.uint64(memory.scale) + added + np.uint64(memory.offset & ALL)
    return rows[there], (total if memory.wide_sum else total & np.uint64(0xFFFFFFFF))[there]


def _register(tables: Tables, flat: Flat, memory: sass.Memory, rows: Ints) -> tuple[Addresses, Mask]:
    if memory.register == sass.ZERO:
        return np.zeros(len(rows), np.uint64), np.ones(len(rows), bool)
    return _number(tables, tables.registers[flat.rows[rows]], memory.register, memory.wide)


def _uniform(tables: Tables, flat: Flat, memory: sass.Memory, rows: Ints) -> tuple[Addresses, Mask]:
    """The uniform register of each lane's warp: a pair where addresses are 64 bits."""
    if memory.uniform is None:
        return np.zeros(len(rows), np.uint64), np.ones(len(rows), bool)
    return _number(tables, tables.uniform_registers[flat.warp[rows]], memory.uniform, memory.wide_sum)


def _executed(tables: Tables, flat: Flat, memory: sass.Memory, rows: Ints) -> Mask:
    """Whether the lane's predicate let it take part."""
    if memory.guard == sass.TRUE:
        return np.full(len(rows), not memory.negated)
    value, there = tables.word(tables.predicates[flat.rows[rows]], memory.guard)
    return there & ((value != 0) != memory.negated)


def _number(tables: Tables, sections: Ints, index: int, pair: bool) -> tuple[Addresses, Mask]:
    """A register, or a pair of them as one number."""
    low, there = tables.word(sections, index)
    if not pair:
        return low, there
    high, both = tables.word(sections, index + 1)
    return low | high << np.uint64(32), there & both


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
