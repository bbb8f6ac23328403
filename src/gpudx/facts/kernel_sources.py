"""The sources of the kernels that were launched, with the options that they were built with."""

from __future__ import annotations

import numpy as np

from gpudx.facts import Facts
from gpudx.kernel_checks.opposite_order import Launched

MOST = 16


def of_launches(facts: Facts) -> tuple[tuple[str, str], ...]:
    """Each once; none of programs that were made from binaries."""
    rows = np.unique(facts.launches.kernel_row)
    found: dict[tuple[str, str], None] = {}
    for row in rows[rows >= 0].tolist():
        info = facts.kernels.info(row)
        source = facts.kernels.source(info.program, info.position) if info else ""
        if source and len(found) < MOST:
            found[source, facts.kernels.options(row, int(facts.objects.table["born"][row]))] = None
    return tuple(found)


def kernels_of_launches(facts: Facts) -> dict[str, tuple[str, ...]]:
    """By source: its kernels that were launched; the last ones first, as results come from them."""
    launches, found = facts.launches, dict[str, dict[str, None]]()
    done = np.flatnonzero((launches.status == 0) & ~launches.by_address)[::-1]
    for row in dict.fromkeys(launches.kernel_row[done].tolist()):
        info = facts.kernels.info(row) if row >= 0 else None
        text = facts.kernels.source(info.program, info.position) if info else ""
        if info and text:
            found.setdefault(text, {})[info.name] = None
    return {text: tuple(names) for text, names in found.items()}


def launched(facts: Facts) -> tuple[Launched, ...]:
    """Kernels of sources that ran, each once; without those of APIs that launch by address, which are compiled beforehand."""
    launches, even = facts.launches, dict[int, bool]()
    for at in np.flatnonzero((launches.status == 0) & ~launches.by_address & (launches.kernel_row >= 0)).tolist():
        items, group = launches.geometry(at)
        whole = group[0] > 0 and not any(n % each for n, each in zip(items, group, strict=True) if n and each)
        row = int(launches.kernel_row[at])
        even[row] = even.get(row, True) and whole
    found = dict[tuple[str, str, str], bool]()
    for row, whole in even.items():
        info = facts.kernels.info(row)
        source = facts.kernels.source(info.program, info.position) if info else ""
        if info and source:
            key = info.name, source, facts.kernels.options(row, int(facts.objects.table["born"][row]))
            found[key] = found.get(key, True) and whole
    return tuple(Launched(*key, even=whole) for key, whole in list(found.items())[:MOST])
