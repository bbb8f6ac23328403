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
