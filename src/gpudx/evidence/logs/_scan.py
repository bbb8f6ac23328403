"""One pass over a log: marks are looked for in whole blocks, and only lines that have one are cleaned and read."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from gpudx.evidence.logs import Format, Reader, every
from gpudx.evidence.logs._clean import clean_block
from gpudx.evidence.logs._event import LONGEST_QUOTE, Event
from gpudx.evidence.logs._near import FARTHEST, Near
from gpudx.evidence.logs._stamps import stamp

BLOCK = 1 << 20
MOST_READ = 20_000  # lines of one format, unless it says otherwise; more are counted, not read


class _Asked:
    """A reader, and how many more lines it may read."""

    def __init__(self, module: Format) -> None:
        self.name, self.generic = module.FORMAT, getattr(module, "GENERIC", False)
        self.reader: Reader = module.reader() if hasattr(module, "reader") else module  # type: ignore[assignment]
        self.left: int = getattr(module, "MOST_READ", MOST_READ)


class Scan:
    """The events of one log, in order. Known at the end: `lines`, and the lines that were not read, by format."""

    def __init__(self, formats: Iterable[Format] | None = None) -> None:
        self.lines = 0
        self.size = 0
        self._marks: dict[bytes, list[int]] = defaultdict(list)
        self._asked: list[_Asked] = []
        self.unread: dict[str, int] = defaultdict(int)
        self._covered = 0
        for module in sorted(formats or every(), key=lambda m: (getattr(m, "GENERIC", False), m.__name__)):
            self._ask(module)

    def _ask(self, module: Format) -> None:
        for mark in module.MARKS:
            self._marks[mark.encode()].append(len(self._asked))
        self._asked.append(_Asked(module))

    def events(self, chunks: Iterable[bytes]) -> Iterator[Event]:
        """`chunks` are pieces of the file, of any size."""
        for data, begin, end, line in self._blocks(chunks):
            yield from self._block(data, begin, end, line)
        for one in self._asked:
            if hasattr(one.reader, "finish"):
                yield from (replace(event, format=one.name) for event in one.reader.finish())

    def all(self, name: str) -> Iterator[Any]:
        """What the readers have gathered beside events: "builds" or "sources"."""
        for one in self._asked:
            yield from getattr(one.reader, name, ())

    def _blocks(self, chunks: Iterable[bytes]) -> Iterator[tuple[bytes, int, int, int]]:
        """Data, the part of it that is to be read, and the number of its first line; neighbours stand on both sides."""
        kept, begin, line = b"", 0, 1
        for chunk in chunks:
            self.size += len(chunk)
            data = kept + clean_block(chunk)
            end = data.rfind(b"\n", begin, max(begin, len(data) - FARTHEST)) + 1
            if end <= begin:
                if len(data) - begin < BLOCK + FARTHEST:  # wait for more, unless it is one endless line
                    kept = data
                    continue
                end = len(data) - FARTHEST
            yield data, begin, end, line
            cut = max(0, end - FARTHEST)
            line += data.count(b"\n", 0, cut)
            kept, begin = data[cut:], end - cut
        yield kept, begin, len(kept), line
        self.lines = line + kept.count(b"\n") - (not kept or kept.endswith(b"\n"))

    def _block(self, data: bytes, begin: int, end: int, line: int) -> Iterator[Event]:
        at = 0
        for start, readers in sorted(self._hits(data, begin, end).items()):
            line += data.count(b"\n", at, start)
            at = start
            yield from self._line(Near(data, start, line), readers)

    def _hits(self, data: bytes, begin: int, end: int) -> dict[int, set[int]]:
        """Where lines with marks begin, and who is to read them. A line counts once for each mark."""
        found: dict[int, set[int]] = defaultdict(set)
        for mark, every_reader in self._marks.items():
            readers = [index for index in every_reader if self._asked[index].left > 0]
            if not readers:
                self.unread[self._asked[every_reader[0]].name] += data.count(mark, begin, end)
                continue
            at = data.find(mark, begin, end)
            while at >= 0:
                found[_start(data, at)].update(readers)
                stop = data.find(b"\n", at, at + FARTHEST)
                back = data.find(b"\r", at, stop if stop >= 0 else at + FARTHEST)
                at = data.find(mark, max(at + 1, back, stop), end)
        return found

    def _line(self, near: Near, readers: set[int]) -> Iterator[Event]:
        taken = near.line <= self._covered
        for index in sorted(readers):  # generic ones come last
            one = self._asked[index]
            if one.generic and taken:
                continue
            one.left -= 1
            for event in one.reader.read(near):
                taken = True
                self._covered = max(self._covered, near.line + event.covers)
                yield _placed(event, one.name, near)


def _start(data: bytes, at: int) -> int:
    low = max(0, at - FARTHEST)
    start = data.rfind(b"\n", low, at) + 1 or low
    return max(start, data.rfind(b"\r", start, at) + 1)


def _placed(event: Event, name: str, near: Near) -> Event:
    quote = (event.quote or near.text.strip())[:LONGEST_QUOTE]
    clock, time = stamp(near.raw)
    return replace(event, format=name, line=event.line or near.line, quote=quote, clock=clock, time=time)
