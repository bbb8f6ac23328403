"""Memory that holds nothing yet: objects that were made without content, until something may write them."""

from __future__ import annotations

from collections import Counter

import numpy as np
from numpy.typing import NDArray

from gpudx.facts import Facts
from gpudx.facts.accesses import WRITE
from gpudx.facts.given_memory import uses
from gpudx.facts.objects import KINDS

I64 = NDArray[np.int64]
NEVER = np.int64(1) << np.int64(62)
OUTSIDE = ("native_kernel", "acquire")  # writers that name their memory in a list


def fresh_buffers(facts: Facts) -> NDArray[np.bool_]:
    """Which objects are buffers that began with no content, and whose whole life was kept. (Memory of others comes with properties.)"""
    table = facts.objects.table
    fresh = (table["kind"] == KINDS.index("buffer")) & (table["host_ptr"] == 0) & (table["size"] > 0)
    fresh &= table["born"] >= complete_since(facts)
    for position in map(int, facts.trace.select(tuple(c for c in facts.trace.schema.calls if c.does in OUTSIDE))):
        handles = np.frombuffer(facts.trace.array(position, "mems"), "<u8")
        rows = facts.objects.at(handles, np.full(len(handles), position))
        fresh[[facts.writers.root(int(row))[0] for row in rows[rows >= 0]]] = False
    return np.asarray(fresh)


def complete_since(facts: Facts) -> int:
    """The position from which on every thread's calls were kept; objects made before may have been written unseen."""
    if not any(gap.kind == "overwritten" for gap in facts.trace.gaps):
        return 0
    ring = facts.trace.select(
        tuple(c for c in facts.trace.schema.calls if c.does in ("set_arg", "launch", "copy", "fill", "map"))
    )
    _, first = np.unique(facts.trace.column("tid", ring), return_index=True)
    return int(ring[first].max()) if len(first) else len(facts.trace)


def first_write(facts: Facts) -> I64:
    """Of each object, the position of the first call that may write it; NEVER where there is none."""
    table = uses(facts)
    writes = (table["how"] & WRITE) != 0
    written = np.full(len(facts.objects), NEVER)
    np.minimum.at(written, table["object"][writes], table["position"][writes])
    return written


def passed_fresh(facts: Facts) -> set[tuple[str, int, int]]:
    """Arguments that held nothing when their launch began: kernel, number among its launches (from 1), argument."""
    table, fresh, written = uses(facts), fresh_buffers(facts), first_write(facts)
    found = table[(table["argument"] >= 0) & fresh[table["object"]] & (table["position"] <= written[table["object"]])]
    arguments: dict[int, list[int]] = {}
    for one in found:
        arguments.setdefault(int(one["position"]), []).append(int(one["argument"]))
    seen: Counter[str] = Counter()
    passed = set()
    for position, row in zip(facts.launches.position.tolist(), facts.launches.kernel_row.tolist(), strict=True):
        kernel = facts.kernels.name(row)
        seen[kernel] += 1
        passed |= {(kernel, seen[kernel], one) for one in arguments.get(position, ())}
    return passed
