"""Which call may read or write which memory object: copies and fills by their ranges, launches by their arguments."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from gpudx.facts.launches import Arguments, Launches
from gpudx.facts.objects import KINDS, MEMORY, Objects
from gpudx.trace import CallInfo, Trace
from gpudx.trace.slices import slices

I64 = NDArray[np.int64]
READ, WRITE, MAY = 1, 2, 4  # MAY: a launch that was given the object; the kernel need not touch it

DTYPE = np.dtype(
    [("position", "<i8"), ("object", "<i8"), ("offset", "<u8"), ("size", "<u8"), ("how", "u1"), ("argument", "<i2")]
)
ADDRESSED = [KINDS.index(kind) for kind in ("memory", "global", "array")]
RANGE = re.compile(r"(?P<object>\w+)(@(?P<offset>\w+))?(\+(?P<size>\w+))?")


def _rows(position: I64, obj: I64, how: int, offset: NDArray[np.uint64], size: NDArray[np.uint64]) -> NDArray[np.void]:
    table = np.zeros(len(position), DTYPE)
    table["position"], table["object"], table["how"], table["argument"] = position, obj, how, -1
    table["offset"], table["size"] = offset, size
    return table


def _of_call(trace: Trace, objects: Objects, info: CallInfo, text: str, how: int) -> NDArray[np.void]:
    """Accesses of all calls of one kind; size 0 means "some part of it"."""
    match = RANGE.fullmatch(text)
    positions = trace.select(info)
    if match is None or not len(positions):
        return np.zeros(0, DTYPE)
    positions = positions[trace.column("status", positions) == 0]
    handles = trace.field(info, match["object"], positions)
    found = objects.live_at(handles, positions)
    offset = trace.field(info, match["offset"], positions) if match["offset"] else np.zeros(len(positions), np.uint64)
    size = trace.field(info, match["size"], positions) if match["size"] else np.zeros(len(positions), np.uint64)
    keep = found >= 0
    keep[keep] = ~np.isin(objects.table["kind"][found[keep]], ADDRESSED)  # those are in facts.ranges
    return _rows(positions[keep], found[keep], how, offset[keep], size[keep])


def _of_launches(objects: Objects, launches: Launches) -> Iterator[NDArray[np.void]]:
    """Launches that are given addresses are not here: those name no objects."""
    rows = np.flatnonzero(~launches.by_address)
    for some in slices(len(rows)):
        yield _of_arguments(objects, launches, launches.given(rows[some]))


def _of_arguments(objects: Objects, launches: Launches, args: Arguments) -> NDArray[np.void]:
    keep = args.object >= 0
    keep[keep] = np.isin(objects.table["kind"][args.object[keep]], [KINDS.index(k) for k in MEMORY])
    launch = args.launch[keep]
    good = launches.status[launch] == 0
    launch, index, obj = launch[good], args.index[keep][good], args.object[keep][good]
    read_only = launches.declared.get("read_only", launches.kernel_row[launch], index)
    how = np.where(read_only, READ | MAY, READ | WRITE | MAY)
    zero = np.zeros(len(launch), np.uint64)
    table = _rows(launches.position[launch], obj, 0, zero, zero)
    table["how"], table["argument"] = how, index
    return table


def derive_accesses(trace: Trace, objects: Objects, launches: Launches) -> NDArray[np.void]:
    """All accesses in order of time."""
    parts = [np.zeros(0, DTYPE), *_of_launches(objects, launches)]
    for info in trace.calls_made:
        for text, how in ((info.reads, READ), (info.writes, WRITE), (info.maps, READ | WRITE | MAY)):
            if text:
                parts.append(_of_call(trace, objects, info, text, how))
    table = np.concatenate(parts)
    return table[np.argsort(table["position"], kind="stable")]
