"""The program uploaded elements of another size than the ones that the kernel steps through.

A struct that two sources declare differently has another size in each: one packs it, has a field more, or another type for one. A float3
has 12 bytes in CUDA, and 16 where a library pads it. All elements but the first are then read from the wrong bytes. No call fails.

Example:

    #pragma pack(push, 1)
    struct Particle { float x, y, z; double mass; };      // host: 20 bytes
    ... particles[i].mass                                 // in the kernel, without the pragma: every 24 bytes

Fix it by declaring the struct once, for both.

Reported if all of this holds:

- The kernel's PTX, in the program's files, shows that each thread uses the argument only at its own global id, with another number of bytes
  from one to the next than the host uploaded for each element.
- The elements are as many as the launch has threads, or as a number that it was passed and rounded up from.
- The buffer is no whole number of the kernel's elements, nothing wrote it after the upload, and no kernel is passed an address inside it.

It is an error in a program that fails, unless the device stopped a kernel and the kernel's elements are the smaller ones; else a warning.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from gpudx.detectors import Run
from gpudx.detectors._device_errors import first_report
from gpudx.detectors._elements import counts, uploaded
from gpudx.detectors._groups import groups
from gpudx.detectors._words import argument
from gpudx.facts import Facts
from gpudx.facts.accesses import WRITE
from gpudx.facts.allocated import allocation_of
from gpudx.facts.given_memory import uses
from gpudx.facts.kernel_code import values_of
from gpudx.model import Evidence, Finding
from gpudx.text import plural

ID = "element-stride"
LAYOUT = "struct-layout"
MOST_LAUNCHES = 4  # of a kernel that are looked at
SMALLEST, LARGEST = 8, 4096  # bytes of an element
BECAUSE = "The sizes show two layouts of one element; it is not shown that the program failed because of them."


@dataclass(frozen=True)
class _Element:
    argument: int
    object: int
    filled: int  # the call
    count: int
    uploaded: int  # bytes for each
    step: int  # bytes from one to the next in the kernel


def detect(facts: Facts, run: Run) -> Iterator[Finding]:
    """One finding per kernel and argument: of the first launch that shows it."""
    launches = facts.launches
    rows = np.flatnonzero((launches.status == 0) & launches.by_address & ~launches.captured)
    for part in groups(rows, facts.kernels.functions(launches.kernel_row[rows])) if not facts.trace.gaps else ():
        told: set[int] = set()
        for row in part[:MOST_LAUNCHES].tolist():
            for one in _elements(facts, row):
                if one.argument not in told:
                    told.add(one.argument)
                    yield _finding(facts, run, row, one)


def _elements(facts: Facts, row: int) -> Iterator[_Element]:
    """To look into the kernel's code takes longer than all else."""
    table, position = facts.objects.table, int(facts.launches.position[row])
    for one in facts.launches.values(row):
        memory, index = int(one["object"]), int(one["index"])
        if memory < 0 or int.from_bytes(one["bytes"], "little") != int(table["handle"][memory]):
            continue
        size = int(table["size"][memory])
        sizes = {count: size // count for count in counts(facts, row) if size % count == 0 and SMALLEST <= size // count <= LARGEST}
        filled = uploaded(facts, memory, position) if sizes else None
        code = values_of(facts, int(facts.launches.kernel_row[row])) if filled is not None else None
        step = code.strides.get(index, 0) if code is not None else 0
        count = next((count for count, each in sizes.items() if each != step), None)
        if filled is None or count is None or step < SMALLEST or not size % step:
            continue
        if not _has_parts(facts, memory) and not _is_written_between(facts, memory, filled, position):
            yield _Element(index, memory, filled, count, sizes[count], step)


def _has_parts(facts: Facts, memory: int) -> bool:
    """Is a kernel passed an address inside it? Then it may hold several arrays, one after the other."""
    table = uses(facts)
    return bool(((table["object"] == memory) & (table["argument"] >= 0) & (table["begin"] > 0)).any())


def _is_written_between(facts: Facts, memory: int, filled: int, position: int) -> bool:
    """May other work have written it since, and packed it in another way?"""
    table = uses(facts)
    later = (table["position"] > filled) & (table["position"] < position) & (table["object"] == memory)
    return bool(((table["how"][later] & WRITE) != 0).any())


def _finding(facts: Facts, run: Run, row: int, one: _Element) -> Finding:
    site, filled = facts.sites.at(int(facts.launches.position[row]), argument=one.argument), facts.sites.at(one.filled)
    name, size = argument(facts, int(facts.launches.kernel_row[row]), one.argument), int(facts.objects.table["size"][one.object])
    where = f" at {filled.source.rpartition('/')[2]}" if filled.source else ""
    return Finding(
        id=ID,
        severity="error" if run.failed and (first_report(facts) is None or one.uploaded < one.step) else "warning",
        message=(
            f"Kernel {site.kernel} (launch {site.launch}) steps through {name} by {one.step} bytes for each thread, and "
            f"{filled.call}{where} uploaded {one.uploaded} bytes for each of the {one.count:,} elements: the host and the kernel lay "
            "them out differently."
        ),
        evidence=(
            Evidence(f"{filled.call}{where} filled all {size:,} bytes: {one.count:,} x {one.uploaded}", (filled.number,)),
            Evidence(f"{size:,} bytes are no whole number of elements of {plural(one.step, 'byte')}", (site.number,)),
        ),
        site=site,
        others=(filled,),
        allocation=allocation_of(facts, one.object),
        causes=(LAYOUT,),
        because=BECAUSE,
        root=filled,
        steps=("Declare the element once for host and kernel, with the same types, order, packing and alignment.",),
        facts=(("kernel", site.kernel or "?"), ("argument", str(one.argument))),
    )
