"""A line of a log, and its neighbours when a format asks for them."""

from __future__ import annotations

from gpudx.evidence.logs._clean import clean_line

FARTHEST = 1 << 15  # bytes to either side in which neighbours are looked for
MOST_LINES = 64


class Near:
    """`line` counts from 1; a progress line with carriage returns is the part in which the mark stands."""

    __slots__ = ("_data", "_start", "_stop", "_text", "line")

    def __init__(self, data: bytes, start: int, line: int) -> None:
        self._data, self._start, self.line = data, start, line
        self._stop = -1  # not looked for yet
        self._text: str | None = None

    @property
    def _end(self) -> int:
        if self._stop < 0:
            stop = self._data.find(b"\n", self._start, self._start + FARTHEST)
            stop = stop if stop >= 0 else min(len(self._data), self._start + FARTHEST)
            back = self._data.find(b"\r", self._start, stop)
            self._stop = back if back >= 0 else stop
        return self._stop

    @property
    def raw(self) -> bytes:
        """The line as it stands there."""
        return self._data[self._start : self._end]

    @property
    def text(self) -> str:
        """The line, clean."""
        if self._text is None:
            self._text = clean_line(self.raw)
        return self._text

    def after(self, most: int = MOST_LINES) -> list[str]:
        """The lines that follow, the nearest first, without fences of Markdown."""
        rest = self._data[self._end : self._end + FARTHEST].split(b"\n", most + 1)[1 : most + 1]
        return [clean_line(line) for line in rest if not line.startswith(b"```")]

    def upto(self, other: Near, most: int = 1 << 20) -> str:
        """What stands between this line and a later one; "" where that is too much, or not in one piece."""
        if self._data is not other._data or not 0 <= other._start - self._end <= most:
            return ""
        return self._data[self._end : other._start].decode("utf-8", "replace")

    def before(self, most: int = MOST_LINES) -> list[str]:
        """The lines that precede, the nearest first."""
        head = self._data[max(0, self._start - FARTHEST) : max(0, self._start - 1)]
        lines = head.rsplit(b"\n", most)[-most:] if head else []
        return [clean_line(line) for line in reversed(lines)]
