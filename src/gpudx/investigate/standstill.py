"""Has a program of an investigation come to a standstill? No stream has moved for some time, and the host waits for one.

Asked of while it runs, by what the device leaves behind finished work. Where no such breadcrumbs are left, nothing is known: a kernel of
a CPU device may take long.
"""

from __future__ import annotations

import contextlib
import time
from pathlib import Path

import numpy as np

from gpudx.errors import UserError
from gpudx.facts import derive
from gpudx.kernel_checks.prelude import KINDS
from gpudx.lab.crumbs import refresh
from gpudx.trace import Trace, open_trace
from gpudx.trace.progress import Moved, Progress

LEAST_S = 4.0
OF_BUDGET = 0.1  # that a run may make no progress, before any run has ended
AGAIN_S = 4.0  # the same once a run has stood still: it is seen again, not waited for
INSIDE = 1.5  # times as long where an instrument slows the kernels down
SETTLED_S = 1.5  # the same once a kernel has reported the loop that does not end
PERIOD_S = 0.5
LOOP = KINDS.index("loop")
WAITING = ("wait", "copy", "map")


class Standstill:
    """Asked often; most looks compare a few kilobytes."""

    def __init__(self, traces: Path, patience_s: float) -> None:
        self._traces, self._patience_s = traces, patience_s
        self._progress = Progress(traces)
        self._seen: Moved = ()
        self._since = self._next_look = 0.0

    def __call__(self, elapsed: float) -> bool:
        """`elapsed`: seconds since the program was started."""
        if elapsed < self._next_look:
            return False
        self._next_look = elapsed + PERIOD_S
        now = self._progress.now()
        if now != self._seen:
            self._seen, self._since = now, elapsed
        still = elapsed - self._since
        if not now or still < min(self._patience_s, SETTLED_S):
            return False
        return any(self._waits(path, still) for path in sorted(self._traces.glob("*.gdx")))

    def _waits(self, path: Path, still: float) -> bool:
        """Does the host wait, since then, for a stream that leaves breadcrumbs?"""
        with contextlib.suppress(UserError, OSError, ValueError):
            trace = open_trace(path)
            if _left_a_loop(trace):
                return True
            if still < self._patience_s:
                return False
            refresh(trace)
            facts = derive(open_trace(path))
            waits = [int(p) for p in facts.in_flight if facts.trace.info(int(p)).does in WAITING]
            if facts.trace.ended or not waits or not facts.crumbs.rows:
                return False
            began = float(facts.trace.seconds(facts.trace.column("begin", np.array(waits))).min())
            return time.monotonic() - int(facts.trace.header["start_mono_ns"]) / 1e9 - began >= self._patience_s
        return False


def _left_a_loop(trace: Trace) -> bool:
    """Has a checked kernel reported a loop without an end, and left it? Then what follows need not be waited for."""
    return any(trace.named_numbers(int(one))["kind"] == LOOP for one in trace.named("note_kernel_check"))
