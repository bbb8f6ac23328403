"""Says once that a recorded program makes no progress: no stream has moved for some time while the host waits for one.

It runs in the parent, reads the traces, and touches nothing else: the program is never stopped. Most looks compare a few
kilobytes per process; the record is read as a whole only when nothing has moved.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path

from gpudx.errors import UserError
from gpudx.facts import derive
from gpudx.lab.crumbs import refresh
from gpudx.live import in_flight
from gpudx.trace import open_trace
from gpudx.trace.progress import Moved, Progress

PATIENCE_S = 20.0
PERIOD_S = 0.5


class Watchdog:
    """Asked often; speaks once."""

    def __init__(self, traces: Path, say: Callable[[str], None], patience_s: float = PATIENCE_S) -> None:
        self._traces, self._say, self.patience_s = traces, say, patience_s
        self._progress = Progress(traces)
        self._seen: Moved = ()
        self._still_since = self._next_look = 0.0
        self._wait = patience_s  # until the whole record is read again; grows while nothing moves
        self._told = False

    def look(self, elapsed: float) -> None:
        """`elapsed`: seconds since the program was started."""
        if self._told or self.patience_s <= 0 or elapsed < self._next_look:
            return
        self._next_look = elapsed + PERIOD_S
        now = self._progress.now()
        if now != self._seen:
            self._seen, self._still_since, self._wait = now, elapsed, self.patience_s
        elif now and elapsed - self._still_since >= self._wait:
            self._wait += self.patience_s
            self._tell()

    def _tell(self) -> None:
        for path in sorted(self._traces.glob("*.gdx")):
            with contextlib.suppress(UserError, OSError, ValueError):
                text = self._stalled(path)
                if text:
                    self._told = True
                    self._say(text)
                    return

    def _stalled(self, path: Path) -> str | None:
        refresh(open_trace(path))
        facts = derive(open_trace(path))
        if facts.trace.ended or in_flight.longest_wait(facts) < self.patience_s:
            return None
        found = in_flight.hang(facts)
        if found is None:
            return None
        more = "; ".join(evidence.text for evidence in found.evidence[1:4]) if (found.symptom and found.symptom.named) else ""
        detail = f" ({more})" if more else ""
        return (
            f"no progress for {self.patience_s:.0f} s in process {facts.trace.pid}: {found.message.rstrip('.')}{detail}. "
            f"The program keeps running; gpudx attach {facts.trace.pid} shows more."
        )
