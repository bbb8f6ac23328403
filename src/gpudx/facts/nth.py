"""Calls by name and number, as the recorder finds them again in another run (native/core/sites.h).

A launch has the compiled name of its kernel, any other call its own. Numbers count from 1, all calls of that name in the
process: also those that failed.
"""

from __future__ import annotations

import numpy as np

from gpudx.facts._backend import backend_module
from gpudx.facts.kernels import Kernels
from gpudx.facts.launches import Launches
from gpudx.model import OrderPair
from gpudx.trace import Trace

LEAST_MS, MOST_MS = 300, 10_000
TIMES = 3  # as long as lay between the two calls: another run may be slower


class Nth:
    """Names of calls, and what the recorder is asked for at two of them."""

    def __init__(self, trace: Trace, kernels: Kernels, launches: Launches) -> None:
        self._trace, self._kernels, self._launches = trace, kernels, launches

    def call(self, position: int) -> str | None:
        """ "scale:3". None where calls are missing, so that nothing can be counted, or where the API cannot do it."""
        info = self._trace.info(position)
        if self._trace.gaps or not getattr(backend_module(info.api, "order"), "HOLDS", False):
            return None
        row = self._launches.at_position(position)
        if row is None:
            return f"{info.name}:{int((self._trace.call[:position] == info.number).sum()) + 1}"
        functions = self._kernels.functions(self._launches.kernel_row)
        name = self._symbol(int(functions[row]))
        alike = [number for number in np.unique(functions[:row]) if self._symbol(int(number)) == name]
        return f"{name}:{int(np.isin(functions[:row], alike).sum()) + 1}" if name else None

    def of_kind(self, position: int) -> tuple[int, int] | None:
        """(3, 4): the third of four calls of its kind, launches by kernel. None where calls are missing, so that nothing can be counted."""
        if self._trace.gaps:
            return None
        row = self._launches.at_position(position)
        if row is None:
            alike = self._trace.select(self._trace.info(position))
            return int((alike <= position).sum()), len(alike)
        functions = self._kernels.functions(self._launches.kernel_row)
        if functions[row] < 0:
            return None
        return int((functions[: row + 1] == functions[row]).sum()), int((functions == functions[row]).sum())

    def pair(self, first: int, second: int) -> OrderPair | None:
        """The work at `first` begins late, so that the work at `second` overtakes it; and what would keep it from that."""
        names = [self.call(position) for position in (first, second)]
        if None in names:
            return None
        return OrderPair(f"{names[0]}:{self._milliseconds(first, second)}", f"{names[0]}>{names[1]}")

    def _milliseconds(self, first: int, second: int) -> int:
        ticks = self._trace.column("end", np.array([second])) - self._trace.column("begin", np.array([first]))
        apart = 1000 * float(ticks.view(np.int64)[0]) / self._trace.ticks_per_second
        return int(min(max(LEAST_MS, LEAST_MS + TIMES * apart), MOST_MS))

    def _symbol(self, function: int) -> str:
        """The compiled name of a function, "" where it is not known."""
        info = self._kernels.of_functions[function] if function >= 0 else None
        return (info.symbol or info.name) if info else ""
