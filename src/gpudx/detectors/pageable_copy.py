"""A copy in a stream was passed ordinary host memory, so the host waits for it.

Such a copy is correct. The device cannot reach ordinary (pageable) memory: the driver copies the data through its own buffer,
and the call returns late. Work that should overlap with the copy runs after it.

Example:

    std::vector<float> data(n);
    cudaMemcpyAsync(device, data.data(), bytes, cudaMemcpyHostToDevice, stream);     // returns when the data is taken
    other<<<grid, block, 0, second>>>(out);                                          // starts late

Fix it, if the time matters, by allocating the memory with cudaMallocHost or registering it with cudaHostRegister.

It is only ever a note. (CUDA runtime API reference, "API synchronization behavior"; CUDA C++ Programming Guide: copies of
64 KB or less from the host do not wait, so they are not reported.)
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gpudx.detectors import Run
from gpudx.detectors._groups import groups
from gpudx.detectors._ordinary import ordinary, out_of_reach
from gpudx.facts import Facts
from gpudx.facts.order.waits import is_queued
from gpudx.facts.ranges import READ
from gpudx.model import Evidence, Finding
from gpudx.text import plural

ID = "pageable-copy"
SHORT = 64 << 10
LOOKED_AT = 16  # different addresses given to one call


def detect(facts: Facts, run: Run) -> Iterator[Finding]:
    """One finding per call and side; repeats from the same addresses are counted."""
    table, trace = facts.ranges.table, facts.trace
    queued = np.array([c.does == "copy" and is_queued(c) for c in trace.schema.calls], bool)
    rows = np.flatnonzero(queued[trace.call[table["position"]]] & ~table["device"] & (table["size"] > SHORT))
    rows = rows[(facts.ranges.object[rows] < 0) & (trace.column("status", table["position"][rows]) == 0)]
    for part in groups(rows, trace.call[table["position"][rows]], table["how"][rows]):
        _, first = np.unique(table["address"][part], return_index=True)
        looked = part[np.sort(first)[:LOOKED_AT]]
        sure = looked[[_pageable(facts, int(row)) is not None for row in looked]]
        if len(sure):
            yield _finding(facts, int(sure[0]), int(np.isin(table["address"][part], table["address"][sure]).sum()))


def _pageable(facts: Facts, row: int) -> str | None:
    entry = facts.ranges.table[row]
    return ordinary(facts, int(entry["address"])) if out_of_reach(facts, int(entry["position"])) else None


def _finding(facts: Facts, row: int, count: int) -> Finding:
    entry, where = facts.ranges.table[row], _pageable(facts, row)
    site = facts.sites.at(int(entry["position"]), value=int(entry["address"]))
    side = "source" if entry["how"] == READ else "destination"
    size = plural(int(entry["size"]), "byte")
    return Finding(
        id=ID,
        severity="info",
        scope="note",
        message=f"{site.call} has ordinary host memory as its {side} ({where}, {size}), so the host may wait for it.",
        evidence=(
            Evidence(
                f"{int(entry['address']):#x} is {where}, and in no memory that was allocated or registered",
                (site.number,),
            ),
            Evidence("the device reports that it cannot access pageable host memory"),
        ),
        site=site,
        count=count,
        facts=(("call", site.call), ("side", side)),
    )
