"""Standard input that is still being written (`tail -f log | gpudx explain -`): events are shown when the writer pauses.

The log itself is read as a stream, once. For what is shown in between, the newest part of it is explained again in each pause: what
is new there is shown. A pause costs at most the time for WINDOW bytes.
"""

from __future__ import annotations

import os
import select
import time
from collections.abc import Callable, Iterator

CHUNK = 1 << 20
WINDOW = 2 << 20  # bytes of the newest part
PAUSE_S = 0.3  # without new data: the writer waits, and what was written is complete
BETWEEN_S = 1.0  # at least this long from one look to the next
EARLY_S = 1.0  # a log that ends sooner needs no events in between


def follow(file: int, show: Callable[[str], None] | None) -> Iterator[bytes]:
    """The pieces of a file as they are written; `show` gets a line for each event that is new."""
    window = _Window(show)
    began = time.monotonic()
    while True:
        while window.changed and not _ready(file):
            if time.monotonic() - began > EARLY_S:
                window.look()
        chunk = os.read(file, CHUNK)
        if not chunk:
            return
        window.add(chunk)
        yield chunk


def _ready(file: int) -> bool:
    try:
        return bool(select.select([file], [], [], PAUSE_S)[0])
    except (OSError, ValueError):  # not a pipe: it is read to its end
        return True


class _Window:
    """The newest part of a stream, and what was already shown of it."""

    def __init__(self, show: Callable[[str], None] | None) -> None:
        self._show = show
        self._data = b""
        self._cut = 0  # lines that were dropped
        self.changed = False  # since the last look
        self._looked = 0.0
        self._shown: set[str] = set()

    def add(self, chunk: bytes) -> None:
        if self._show is None:
            return
        self._data += chunk
        self.changed = True
        if len(self._data) > 2 * WINDOW:
            at = self._data.rfind(b"\n", 0, len(self._data) - WINDOW) + 1
            self._cut += self._data.count(b"\n", 0, at)
            self._data = self._data[at:]

    def look(self) -> None:
        """Show what is new."""
        from gpudx.diagnose.logs import explain
        from gpudx.evidence.reading import NOT_UNDERSTOOD, read_log

        if self._show is None or not self.changed or time.monotonic() - self._looked < BETWEEN_S:
            return
        self.changed, self._looked = False, time.monotonic()
        for one in explain([read_log("stream", [self._data])]).findings:
            if (
                one.fingerprint not in self._shown
                and one.id != f"log-{NOT_UNDERSTOOD}"
                and not (one.written and one.written.follows)
            ):
                self._shown.add(one.fingerprint)
                self._show(f"line {(one.written.line if one.written else 0) + self._cut:,}: {one.message}")
