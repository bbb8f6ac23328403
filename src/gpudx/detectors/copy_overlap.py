"""Source and destination of one copy overlap.

A copy may read and write its bytes in any order, and by many engines at once: where the two sides overlap, the result is
undefined, and changes with the size, the device and the driver.

Example:

    cudaMemcpy(rows, rows + width, (n - 1) * width, cudaMemcpyDeviceToDevice);     // moves all rows up by one

Fix it by copying through a second buffer, or by moving the data with a kernel that is written for it.

(CUDA runtime API reference, cudaMemcpyAsync, cudaMemcpy2D and cudaMemcpy3D: "The memory areas may not overlap".) A copy
from a place to itself changes nothing and is not reported; neither are rows whose pitches differ.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from gpudx.detectors import Run
from gpudx.detectors._groups import groups
from gpudx.detectors._rejected import rejected
from gpudx.facts import Facts
from gpudx.facts.allocated import allocation_of
from gpudx.model import Cause, Evidence, Finding
from gpudx.model.cause_kinds import FIXED
from gpudx.text import plural

ID = "copy-overlap"
CAUSE = Cause(
    id=ID,
    title="Source and destination of one copy overlap",
    refutes_if="No byte is both read and written by the copy.",
    fix=(
        "Copy through a second buffer (costs its memory and a second copy), or move the data with a kernel written for it.",
    ),
    predicts=(("recorded", "the two sides of one copy share bytes"),),
    settled_by="a run with a second buffer between the two",
    kind=FIXED,
)
I64 = NDArray[np.int64]
LARGEST = np.uint64(1 << 62)  # addresses and sizes above this are judged elsewhere, if at all


def detect(facts: Facts, run: Run) -> Iterator[Finding]:
    """One finding per call and memory; repeats are counted."""
    table = facts.ranges.table
    reads, writes = facts.ranges.pairs()
    done = facts.trace.column("status", table["position"][reads]) == 0
    keep = done | np.isin(table["position"][reads], rejected(facts))
    keep[keep] = _overlap(table[reads[keep]], table[writes[keep]])
    reads, writes = reads[keep], writes[keep]
    calls = facts.trace.call[table["position"][reads]]
    for part in groups(np.arange(len(reads)), calls, facts.ranges.object[reads]):
        yield _finding(facts, run, int(reads[part[0]]), int(writes[part[0]]), len(part))


def _overlap(source: NDArray[np.void], target: NDArray[np.void]) -> NDArray[np.bool_]:
    """Do the rows of two boxes of the same shape share bytes, without being the same ones?"""
    alike = (source["layers"] == 1) & ((source["pitch"] == target["pitch"]) | (source["height"] == 1))
    for side in (source, target):
        alike &= (side["address"] < LARGEST) & (side["size"] < LARGEST) & (side["pitch"] < LARGEST)
    away = np.abs(target["address"].astype(np.int64) - source["address"].astype(np.int64))
    width, rows = source["width"].astype(np.int64), source["height"].astype(np.int64)
    pitch = np.maximum(source["pitch"].astype(np.int64), 1)
    before = away // pitch  # whole rows from one box to the other; the row after that may be met from behind
    met = (before < rows) & (away - before * pitch < width)
    met |= (before + 1 < rows) & ((before + 1) * pitch - away < width)
    plain = away < width
    return alike & (away > 0) & np.where(rows == 1, plain, met)


def _finding(facts: Facts, run: Run, read: int, write: int, count: int) -> Finding:
    table, obj = facts.ranges.table, int(facts.ranges.object[read])
    source, target = table[read], table[write]
    site = facts.sites.at(int(source["position"]), value=int(target["address"]))
    away = int(target["address"]) - int(source["address"])
    where = facts.objects.label(obj) if obj >= 0 else "host memory"
    way = f"{plural(abs(away), 'byte')} {'ahead' if away > 0 else 'back'}"
    size = f"{plural(int(source['height']), 'row')} of " if source["height"] > 1 else ""
    return Finding(
        id=ID,
        severity="error",  # whatever came out of it: what the copy does is not defined
        message=(
            f"{site.call} copies {size}{plural(int(source['width']), 'byte')} of {where} to a place only {way}: source and "
            "destination overlap."
        ),
        evidence=(
            Evidence(f"the source begins at {int(source['address']):#x}, the destination {way}", (site.number,)),
            Evidence("a copy may move its bytes in any order, so what it leaves there is not defined"),
        ),
        site=site,
        count=count,
        allocation=allocation_of(facts, obj),
        causes=(ID,),
        facts=(("call", site.call), ("away", str(away)), ("width", str(int(source["width"])))),
    )
