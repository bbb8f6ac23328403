"""The sources of the kernels that were launched, with the options that they were built with."""

from __future__ import annotations

import numpy as np

from gpudx.facts import Facts

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
