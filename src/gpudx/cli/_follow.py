"""Standard input that is still being written (`tail -f log | gpudx explain -`): events are shown as they come.

The log is read as a stream, once; what the reader has found so far is shown about once a second. It holds the last lines back until more
follow, so that the newest part of a slow log is explained once more, and of any log in a pause: that costs at most the time for WINDOW
bytes.
"""

from __future__ import annotations

import os
import select
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpudx.evidence.reading import Log

CHUNK = 1 << 20
WINDOW = 2 << 20  # bytes of the newest part
PAUSE_S = 0.3  # without new data: the writer waits, and what was written is complete
BETWEEN_S = 1.0  # at least this long from one look to the next
SLOW = 1 << 18  # bytes since the last look
EARLY_S = 1.0  # a log that ends sooner needs no events in between


class Follow:
    """Gives the pieces of a file as they are written; `show` gets a line for each event that is new, in between."""

    def __init__(self, file: int, show: Callable[[str], None] | None) -> None:
        self._file, self._show = file, show
        self._newest = _Newest()
        self._found: Callable[[], Log] | None = None  # what the reader knows by now, where that is more than was shown
        self._fresh = 0  # bytes since the newest part was explained
        self._began = self._looked = time.monotonic()
        self._shown: set[str] = set()

    def found(self, known: Callable[[], Log]) -> None:
        """The reader has found an event of a new kind or place."""
        self._found = known

    def pieces(self) -> Iterator[bytes]:
        while True:
            while self._fresh and not _ready(self._file, PAUSE_S):
                self._look(newest=True)
            chunk = self._read()
            if not chunk:
                return
            if self._show is not None:
                self._newest.add(chunk)
                self._fresh += len(chunk)
            yield chunk
            self._look(newest=False)

    def _read(self) -> bytes:
        """What has been written by now, a few blocks at most: many small pieces would be slow to read."""
        data = chunk = os.read(self._file, CHUNK)
        while chunk and len(data) < CHUNK and _ready(self._file, 0.0):
            chunk = os.read(self._file, CHUNK)
            data += chunk
        return data

    def _look(self, newest: bool) -> None:
        """Show what is new, also of the newest part if the log is slow or `newest` is asked for."""
        from gpudx.evidence.reading import read_log

        now = time.monotonic()
        if self._show is None or now - self._began < EARLY_S or now - self._looked < BETWEEN_S:
            return
        self._looked = now
        if self._found is not None:
            self._tell(self._found(), 0)
            self._found = None
        if newest or self._fresh <= SLOW:
            data, dropped = self._newest.lines(torn=newest)
            self._tell(read_log("stream", [data]), dropped)
        self._fresh = 0

    def _tell(self, log: Log, dropped: int) -> None:
        """Show what is new; `dropped` lines stood before the log."""
        from gpudx.diagnose.logs import explain
        from gpudx.evidence.reading import NOT_UNDERSTOOD

        for one in explain([log]).findings:
            follows = one.written is not None and one.written.follows is not None
            if one.fingerprint in self._shown or one.id == f"log-{NOT_UNDERSTOOD}" or follows or self._show is None:
                continue
            self._shown.add(one.fingerprint)
            self._show(f"line {(one.written.line if one.written else 0) + dropped:,}: {one.message}")


def _ready(file: int, seconds: float) -> bool:
    try:
        return bool(select.select([file], [], [], seconds)[0])
    except (OSError, ValueError):  # not a pipe: it is read to its end
        return seconds > 0


class _Newest:
    """The newest part of a stream, in whole lines."""

    def __init__(self) -> None:
        self._chunks: deque[bytes] = deque()
        self._size = self._dropped = 0  # bytes that are kept, lines that are not
        self._torn = False  # does the first chunk begin inside a line?

    def add(self, chunk: bytes) -> None:
        self._chunks.append(chunk)
        self._size += len(chunk)
        while self._size - len(self._chunks[0]) >= WINDOW:
            old = self._chunks.popleft()
            self._size -= len(old)
            self._dropped += old.count(b"\n")
            self._torn = not old.endswith(b"\n")

    def lines(self, torn: bool) -> tuple[bytes, int]:
        """The lines that are kept, with the last one if it is `torn` too, and how many were before them."""
        data = b"".join(self._chunks)
        begin = data.find(b"\n") + 1 if self._torn else 0
        end = len(data) if torn else data.rfind(b"\n") + 1
        return data[begin:end], self._dropped + (begin > 0)
