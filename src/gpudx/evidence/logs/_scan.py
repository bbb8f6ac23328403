"""One pass over a log: marks are looked for in whole blocks, and only lines that have one are cleaned and read."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpudx.evidence.logs import Format, Reader, _program, every
from gpudx.evidence.logs._clean import clean_block
from gpudx.evidence.logs._context import context
from gpudx.evidence.logs._event import LONGEST_QUOTE, Event
from gpudx.evidence.logs._marks import Hits, Mark, Marks
from gpudx.evidence.logs._near import FARTHEST, Near
from gpudx.evidence.logs._stamps import stamp
from gpudx.evidence.logs._sticky import reported, sticky

BLOCK = 1 << 20
DIGITS = b"0123456789"
BUILDS = ("build-failed", "symbol-missing", "compiler-crashed")  # they may quote code that names an error
MOST_SITES = 2000
MOST_QUIET = 100_000  # shapes of lines that are remembered
LAST = 3  # formats that are asked last, and look at nothing but the line
MOST_READ = 20_000  # lines of one format, unless it says otherwise; more are counted, not read


class _Asked:
    """A reader, and how many more lines it may read."""

    def __init__(self, module: Format) -> None:
        self.name, self.generic = module.FORMAT, int(getattr(module, "GENERIC", 0))
        self.reader: Reader = module.reader() if hasattr(module, "reader") else module  # type: ignore[assignment]
        self.left: int = getattr(module, "MOST_READ", MOST_READ)
        self.marks = tuple(mark.encode() for mark in module.MARKS)
        self.silent = module.FORMAT == _program.FORMAT  # gathers, and reports nothing
        self.exact = not getattr(module, "ANY_CASE", False)


class Scan:
    """The events of one log, in order. Known at the end: `lines`, and the lines that were not read, by format."""

    def __init__(self, formats: Iterable[Format] | None = None) -> None:
        self.lines = 0
        self.size = 0
        self.unread: dict[str, int] = defaultdict(int)
        self._covered = 0
        modules = sorted(formats or every(), key=lambda m: (int(getattr(m, "GENERIC", 0)), m.__name__))
        self._asked = [*map(_Asked, modules), _Asked(_program)]  # type: ignore[arg-type]
        self._sites: set[tuple[object, ...]] = set()
        self._quiet: set[bytes] = set()  # shapes of lines in which nothing was found
        self._spent: set[int] = set()  # formats that have read their share
        self._silent = np.array([one.silent for one in self._asked])
        self._last_resort = np.array([one.generic > 1 for one in self._asked])
        self._marks = Marks(
            Mark(mark, index, one.exact) for index, one in enumerate(self._asked) for mark in one.marks
        )

    def events(self, chunks: Iterable[bytes]) -> Iterator[Event]:
        """`chunks` are pieces of the file, of any size."""
        for data, begin, end, line in self._blocks(chunks):
            yield from self._block(data, begin, end, line)
        for one in self._asked:
            if hasattr(one.reader, "finish"):
                yield from (_late(replace(event, format=one.name)) for event in one.reader.finish())

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
        for start, stop, readers in self._due(self._marks.find(data, begin, end)):
            for place, some in (
                [(start, readers)] if stop - start <= FARTHEST else self._long(data, start, stop, readers)
            ):
                line += data.count(b"\n", at, place)
                at = place
                yield from self._line(Near(data, place, line), some)

    def _due(self, hits: Hits) -> Iterator[tuple[int, int, list[int]]]:
        """The lines that somebody still reads, and who. Each time a format has read its share, the rest is chosen again."""
        first = 0
        while first < len(hits.starts):
            spent, last = len(self._spent), len(hits.starts) - 1
            later = hits.rows >= first
            kept = later & self._kept(hits)
            for row, start, stop, readers in hits.lines(kept):
                yield start, stop, readers
                if len(self._spent) != spent:
                    last = row
                    break
            self._count_unread(hits, later & ~kept & (hits.rows <= last), spent)
            first = last + 1

    def _kept(self, hits: Hits) -> NDArray[np.bool_]:
        """Readers that have not read their share. The rest of a format's lines are not left to the last resorts."""
        if not self._spent:
            return np.ones(len(hits.rows), np.bool_)
        spent = np.zeros(len(self._asked), np.bool_)
        spent[list(self._spent)] = True
        claimed = np.zeros(len(hits.starts), np.bool_)
        claimed[hits.rows[(spent & ~self._silent)[hits.readers]]] = True
        kept: NDArray[np.bool_] = ~spent[hits.readers] & ~(claimed[hits.rows] & self._last_resort[hits.readers])
        return kept

    def _count_unread(self, hits: Hits, left_out: NDArray[np.bool_], spent: int) -> None:
        """Of the lines that nobody reads any more, how many there are of each format that has read its share."""
        if not spent:
            return
        for index, count in enumerate(np.bincount(hits.readers[left_out], minlength=len(self._asked)).tolist()):
            one = self._asked[index]
            if count and index in self._spent and not one.silent:
                self.unread[one.name] += count

    def _long(self, data: bytes, begin: int, end: int, readers: list[int]) -> list[tuple[int, list[int]]]:
        """Of a line that is too long to be read at once: the pieces in which marks stand."""
        found: dict[int, set[int]] = defaultdict(set)
        for index in readers:
            one = self._asked[index]
            text, marks = (data, one.marks) if one.exact else (data.lower(), [mark.lower() for mark in one.marks])
            for mark in marks:
                at = text.find(mark, begin, end)
                while at >= 0:
                    found[max(begin, at - FARTHEST // 2)].add(index)
                    at = text.find(mark, at + FARTHEST, end)
        return [(place, sorted(some)) for place, some in sorted(found.items())]

    def _line(self, near: Near, readers: list[int]) -> Iterator[Event]:
        taken = settled = near.line <= self._covered  # an ending settles nothing: the same line may name its reason
        for index in readers:  # generic ones come last
            one = self._asked[index]
            if (one.generic and settled) or (one.generic > 1 and taken):
                continue
            if one.left <= 0:
                self.unread[one.name] += not one.silent
                taken = taken or not one.silent
                continue
            if one.generic == LAST and self._seen(near):
                continue
            one.left -= 1
            if one.left <= 0:
                self._spent.add(index)
            for event in one.reader.read(near):
                taken, settled = True, settled or event.role != "ending"
                self._covered = max(self._covered, near.line + event.covers)
                yield self._in_context(_placed(event, one.name, near), near)
            if hasattr(one.reader, "takes") and one.reader.takes(near):
                taken = settled = True
        if not taken and len(self._quiet) < MOST_QUIET and any(self._asked[index].generic == LAST for index in readers):
            self._quiet.add(near.raw[:LONGEST_QUOTE].translate(None, DIGITS))

    def _seen(self, near: Near) -> bool:
        """Was a line read that differs in digits only, without finding anything? Such lines must not use up a format's share."""
        return near.raw.translate(None, DIGITS) in self._quiet

    def _in_context(self, event: Event, near: Near) -> Event:
        """Only the first of a site is shown, so that only its neighbours are looked at."""
        site = (event.format, event.kind, event.facts)
        if site in self._sites or len(self._sites) > MOST_SITES or event.warning:
            return event
        self._sites.add(site)
        return replace(event, context=context(near))


def _late(event: Event) -> Event:
    return reported(event) if event.role == "refusal" and not event.warning and sticky(event.quote) else event


def _placed(event: Event, name: str, near: Near) -> Event:
    quote = (event.quote or near.text.strip())[:LONGEST_QUOTE]
    if event.role == "refusal" and not event.warning and event.kind not in BUILDS and sticky(quote):
        event = reported(event)
    clock, time = stamp(near.raw)
    return replace(event, format=name, line=event.line or near.line, quote=quote, clock=clock, time=time)
