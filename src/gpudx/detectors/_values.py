"""Decoding a number: which recorded thing is it? Exact matches first, and no guess where nothing matches."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gpudx.detectors._host import HostRanges, host_ranges
from gpudx.facts import Facts
from gpudx.facts.allocated import allocation_of
from gpudx.facts.objects import MEMORY
from gpudx.model import Allocation, Evidence
from gpudx.text import plural, several

SMALL = 1 << 12  # below this nothing is ever mapped, and equality with a recorded size says nothing
RECENT = 256  # settings looked at for an object that the value may belong to
CERTAIN = ("dead", "foreign", "size", "offset", "number", "small")
I64 = NDArray[np.int64]


@dataclass(frozen=True)
class Origin:
    """What a value turned out to be. `text` completes "the value is ..."."""

    kind: str  # live, dead, foreign, size, offset, number, small, host, heap, unmapped
    text: str
    evidence: tuple[Evidence, ...]
    allocation: Allocation | None = None

    @property
    def certain(self) -> bool:
        """Can this be no handle at all, whatever was not recorded?"""
        return self.kind in CERTAIN


class Decoder:
    """Finds out what a value is that stands where a handle of one of `kinds` belongs."""

    def __init__(self, facts: Facts, kinds: tuple[str, ...] = MEMORY) -> None:
        self._facts, self._kinds = facts, kinds

    def origin(self, value: int, position: int) -> Origin:
        """The first explanation the size fits exactly; what is nowhere recorded is told apart by where it points."""
        if value < SMALL:
            return Origin("small", f"the number {value}", (Evidence(f"no object can be at address {value:#x}"),))
        for look in (self._handle, self._size, self._offset, self._argument, self._host):
            found = look(value, position)
            if found:
                return found
        return self._nowhere(value)

    # ---- handles ----

    def _handle(self, value: int, position: int) -> Origin | None:
        objects = self._facts.objects
        row = int(objects.at(np.array([value], np.uint64), np.array([position], np.int64))[0])
        if row < 0:
            return None
        label, size = objects.label(row), int(objects.table["size"][row]) or None
        if int(objects.table["gone"][row]) >= position:
            if objects.kind(row) in self._kinds:
                return Origin("live", label, (Evidence(f"{value:#x} is {label}"),), allocation_of(self._facts, row))
            shared = objects.kind(row) == "svm"
            text = f"{label}, shared virtual memory set with the wrong call" if shared else f"the handle of {label}"
            return Origin("foreign", text, (Evidence(f"{value:#x} is {label}"),), allocation_of(self._facts, row))
        # The address of an object of another kind that is gone may belong to something new that was not recorded.
        return self._dead(value, position, row, label, size) if objects.kind(row) in self._kinds else None

    def _dead(self, value: int, position: int, row: int, label: str, size: int | None) -> Origin | None:
        died = int(self._facts.objects.table["died"][row])
        host = self._ranges.holding(value, position)
        if host and host.position > died:
            return None  # the driver gave the memory back and the program has it now
        evidence = Evidence(f"{label} was released by call {died + 1}", (died + 1,))
        text = f"the handle of {label}, released by call {died + 1}"
        return Origin("dead", text, (evidence,), allocation_of(self._facts, row, "released"))

    # ---- numbers ----

    def _size(self, value: int, position: int) -> Origin | None:
        """A byte count: equal to the size of a memory object made before. The one in use nearest before comes first."""
        objects = self._facts.objects
        table = objects.table
        rows = np.flatnonzero((table["size"] == value) & (table["born"] < position))
        if not len(rows):
            return None
        row = self._most_related(rows, position)
        label, born = objects.label(row), int(table["born"][row])
        others = [objects.label(int(r)) for r in rows if r != row]
        also = f" and of {several(others)}" if others else ""
        alive = "live" if int(table["died"][row]) >= position else "released"
        text = f"{value:#x} = {value:,} is exactly the size of {label} (made by call {born + 1}){also}"
        memory = allocation_of(self._facts, row, alive)
        return Origin("size", f"the byte size of {label}", (Evidence(text, (born + 1,)),), memory)

    def _most_related(self, rows: I64, position: int) -> int:
        """Of equal sizes, the object that the same kernel already holds or that the last launches touched."""
        handles = {int(self._facts.objects.table["handle"][r]): int(r) for r in rows}
        sets = self._facts.set_args
        until = int(np.searchsorted(sets.position, position))
        kernel = self._facts.trace.record(position).get("kernel")
        recent = range(until - 1, max(until - RECENT, -1), -1)
        same_kernel = [i for i in recent if kernel is not None and int(sets.kernel[i]) == kernel]
        for row in (*same_kernel, *recent):
            if int(sets.value[row]) in handles:
                return handles[int(sets.value[row])]
        return int(rows[-1])

    def _offset(self, value: int, position: int) -> Origin | None:
        """An offset or a length that a copy, a fill, a map or a sub-buffer was given."""
        table = self._facts.objects.table
        rows = np.flatnonzero((table["offset"] == value) & (table["born"] < position))
        if len(rows):
            label, born = self._facts.objects.label(int(rows[-1])), int(table["born"][rows[-1]])
            return Origin(
                "offset",
                f"the offset of {label}",
                (Evidence(f"call {born + 1} put {label} at {value:#x}", (born + 1,)),),
            )
        for at, name in self._lengths(value, position):
            call = self._facts.trace.info(at).name
            evidence = Evidence(f"call {at + 1}, {call}, was passed {value:#x} as {name}", (at + 1,))
            return Origin("offset", f"the {name} that {call} was passed before (call {at + 1})", (evidence,))
        return None

    def _lengths(self, value: int, position: int) -> list[tuple[int, str]]:
        """Calls before `position` with an offset or size equal to the value, the latest first."""
        trace, found = self._facts.trace, []
        for info in trace.calls_made:
            names = [n for n, kind in info.fields if kind == "number" and n.endswith(("offset", "size"))]
            if info.does not in ("copy", "fill", "map"):
                continue
            positions = trace.select(info)
            for name in names:
                hits = np.flatnonzero((trace.field(info, name, positions) == value) & (positions < position))
                found += [(int(positions[hits[-1]]), name)] if len(hits) else []
        return sorted(found, reverse=True)

    def _argument(self, value: int, position: int) -> Origin | None:
        """A number that was itself passed, by value, as an argument before."""
        sets = self._facts.set_args
        until = int(np.searchsorted(sets.position, position))
        rows = np.flatnonzero((sets.value[:until] == value) & (sets.size[:until] <= 8))
        plain = sets.declares("known")[rows] & ~sets.declares("memory")[rows]
        if not plain.any():
            return None
        row = int(rows[plain][-1])
        number, name = int(sets.position[row]) + 1, self._facts.kernels.name(int(sets.kernel_row[row]))
        text = f"a number that was also passed as argument {int(sets.index[row])} of kernel {name}"
        return Origin("number", text, (Evidence(f"call {number} passed {value:#x} by value", (number,)),))

    # ---- addresses ----

    @cached_property
    def _ranges(self) -> HostRanges:
        return host_ranges(self._facts)

    def _host(self, value: int, position: int) -> Origin | None:
        found = self._ranges.holding(value, position)
        if found:
            into = f", {plural(value - found.begin, 'byte')} in" if value != found.begin else ""
            return Origin(
                "host", found.text + into, (Evidence(f"{value:#x} is {found.text}{into}", (found.position + 1,)),)
            )
        kind = self._facts.symbols.kind(value) or ""
        names = {"stack": "an address on the program's stack", "code": "an address of code"}
        name = names.get(kind) or (f"an address inside {kind[5:]}" if kind.startswith("file:") else None)
        return Origin("host", name, (Evidence(f"{value:#x} is {name}"),)) if name else None

    def _nowhere(self, value: int) -> Origin:
        known = self._facts.trace.ended or self._facts.trace.last_words is not None  # else the map is that of the start, and heaps grow
        if known and self._facts.symbols.kind(value) in (None, "reserved"):
            text = "an address at which the process has no memory"
            return Origin(
                "unmapped", text, (Evidence(f"nothing is mapped at {value:#x}, and no recorded call returned this value"),)
            )
        if self._facts.symbols.kind(value) in (None, "reserved"):
            evidence = (Evidence(f"no recorded call returned {value:#x}"),)
            return Origin("heap", "a value that no recorded call returned as a handle", evidence)
        text = "an address in the program's heap that no recorded call returned as a handle"
        return Origin(
            "heap", text, (Evidence(f"{value:#x} lies in memory of the process, and no recorded call returned it"),)
        )
