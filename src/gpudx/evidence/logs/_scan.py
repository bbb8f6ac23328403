"""One pass over a log: marks are looked for in whole blocks, and only lines that have one are cleaned and read."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpudx.evidence.logs import Format, Reader, _program, every
from gpudx.evidence.logs._clean import LONGEST, clean_block
from gpudx.evidence.logs._context import context, rank_in
from gpudx.evidence.logs._event import LONGEST_QUOTE, Event, Site
from gpudx.evidence.logs._marks import READER, Hits, Mark, Marks, code_of
from gpudx.evidence.logs._near import FARTHEST, Near
from gpudx.evidence.logs._stamps import stamp
from gpudx.evidence.logs._sticky import reported, sticky

BLOCK = 1 << 20
BUILDS = ("build-failed", "symbol-missing", "compiler-crashed")  # they may quote code that names an error
MOST_SITES = 2000
LEAD = 128  # bytes before a mark that are read with it, in a long line
MOST_SHAPES = 100_000  # of lines that are remembered
# Lines that differ in digits only: a format is not asked about more of them after so many in which it found nothing, or something.
MOST_QUIET, MOST_LOUD = 20, 500
AT_ONCE = 1000  # lines that are read before the next ones are chosen
MOST_READ = 20_000  # lines of one format, unless it says otherwise; more are counted, not read
USUAL_LINE = 400  # bytes
MOST_SHARES = 1.5  # after so many shares in all, each format has only
SMALL_SHARE = 0.1


class _Asked:
    """A reader, and how many more lines it may read."""

    def __init__(self, module: Format) -> None:
        self.name, self.generic = module.FORMAT, int(getattr(module, "GENERIC", 0))
        self.reader: Reader = module.reader() if hasattr(module, "reader") else module  # type: ignore[assignment]
        self.most: int = getattr(module, "MOST_READ", MOST_READ)
        self.left = self.most
        self.marks = _encoded(tuple(module.MARKS))
        self.silent = module.FORMAT == _program.FORMAT  # gathers, and reports nothing
        self.exact = not getattr(module, "ANY_CASE", False)
        # A line means the same to it, whatever came before.
        self.forgets = not hasattr(module, "reader") or bool(getattr(module, "FORGETS", False))


class _Alike:
    """How many lines of a shape a format has read; `most` of them are enough. Shapes and formats come as codes (`Hits.codes`)."""

    def __init__(self, most: int) -> None:
        self.seen: Counter[int] = Counter()
        self._most = most
        self._enough: list[int] = []
        self._array = np.empty(0, np.uint64)

    def add(self, code: int) -> None:
        if len(self.seen) < MOST_SHAPES or code in self.seen:
            self.seen[code] += 1
            if self.seen[code] == self._most:
                self._enough.append(code)

    def worn(self, codes: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Which of these have been read often enough."""
        if len(self._array) != len(self._enough):
            self._array = np.array(self._enough, np.uint64)
        return np.isin(codes, self._array)


class Scan:
    """The events of one log, in order. Known at the end: `lines`, and the lines that were not read, by format."""

    def __init__(self, formats: Iterable[Format] | None = None) -> None:
        self.lines = 0
        self.size = 0
        self.unread: dict[str, int] = defaultdict(int)
        self.repeats: dict[Site, list[tuple[int, int]]] = defaultdict(
            list
        )  # of a site: more lines of it, and the number of the last
        self._covered = 0
        modules = sorted(formats or every(), key=lambda m: (int(getattr(m, "GENERIC", 0)), m.__name__))
        self._asked = [*map(_Asked, modules), _Asked(_program)]  # type: ignore[arg-type]
        self._sites: set[tuple[object, ...]] = set()
        self._quiet, self._loud = _Alike(MOST_QUIET), _Alike(MOST_LOUD)
        self._site_of: dict[int, Site | None] = {}  # what was found in lines of a shape, where it was always the same
        self._again: list[tuple[Site, int, int]] = []  # of a block: the site, more lines of it, where the last begins
        self._shares = 0.0  # that were read, of all formats together
        self._spent: set[int] = set()  # formats that have read their share
        self._silent = np.array([one.silent for one in self._asked])
        self._last_resort = np.array([one.generic > 1 for one in self._asked])
        self._marks = _marks(tuple((one.marks, one.exact) for one in self._asked))

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
        at, first = 0, line
        for start, stop, shape, readers in self._due(self._marks.find(data, begin, end)):
            for place, some in (
                [(start, readers)] if stop - start <= LONGEST else self._long(data, start, stop, readers)
            ):
                line += data.count(b"\n", at, place)
                at = place
                yield from self._line(Near(data, place, line), shape, some)
        for site, count, place in self._again:
            self.repeats[site].append((count, first + data.count(b"\n", 0, place)))
        self._again.clear()

    def _due(self, hits: Hits) -> Iterator[tuple[int, int, int, list[int]]]:
        """The lines that somebody still reads, and who. Each time a format has read its share, the rest is chosen again."""
        first, shapes, codes = 0, hits.shapes.tolist(), hits.codes
        while first < len(hits.starts):
            spent, last = len(self._spent), len(hits.starts) - 1
            loud = self._loud.worn(codes)
            done = loud | self._is_spent()[hits.readers]
            kept = (hits.rows >= first) & ~done & ~self._quiet.worn(codes) & ~self._claimed(hits, done)
            for count, (row, start, stop, readers) in enumerate(hits.lines(kept), 1):
                yield start, stop, shapes[row], readers
                if len(self._spent) != spent or count == AT_ONCE:
                    last = row
                    break
            left_out = (hits.rows >= first) & (hits.rows <= last)
            self._count_again(hits, codes, loud & left_out)
            self._count_unread(hits, done & ~loud & left_out)
            first = last + 1

    def _count_again(self, hits: Hits, codes: NDArray[np.uint64], left_out: NDArray[np.bool_]) -> None:
        """Lines like those in which a format has always found the same: they count as more of it."""
        for code in dict.fromkeys(codes[left_out].tolist()):
            rows = hits.rows[left_out & (codes == code)]
            site, reader = self._site_of.get(code), self._asked[code & READER]
            if site is None:
                self.unread[reader.name] += len(rows)
            else:
                self._again.append((site, len(rows), int(hits.starts[rows[-1]])))

    def _is_spent(self) -> NDArray[np.bool_]:
        spent = np.zeros(len(self._asked), np.bool_)
        spent[list(self._spent)] = True
        return spent

    def _claimed(self, hits: Hits, done: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """The last resorts are not asked about lines of a format that has read enough of them."""
        lines = np.zeros(len(hits.starts), np.bool_)
        lines[hits.rows[done & ~self._silent[hits.readers]]] = True
        claimed: NDArray[np.bool_] = lines[hits.rows] & self._last_resort[hits.readers]
        return claimed

    def _count_unread(self, hits: Hits, done: NDArray[np.bool_]) -> None:
        """How many lines were left out of each format that has read enough; the last resorts count where nobody else does."""
        others = done & ~self._last_resort[hits.readers]
        counted = others | (done & ~self._claimed(hits, others))
        for index, count in enumerate(np.bincount(hits.readers[counted], minlength=len(self._asked)).tolist()):
            if count and not self._asked[index].silent:
                self.unread[self._asked[index].name] += count

    def _long(self, data: bytes, begin: int, end: int, readers: list[int]) -> list[tuple[int, list[int]]]:
        """Of a line that is too long to be read at once: its beginning, and the pieces in which further marks stand."""
        found: dict[int, list[int]] = defaultdict(list)
        text = data[begin:end]
        folded = text.lower()
        for index in readers:
            one, read = self._asked[index], 0
            for at in sorted(_places(text if one.exact else folded, one)):
                if at < read:
                    continue
                start = 0 if at < LONGEST - LEAD else _word_before(text, at)
                found[begin + start].append(index)
                read = start + LONGEST - LEAD
        return sorted(found.items())

    def _line(self, near: Near, shape: int, readers: list[int]) -> Iterator[Event]:
        taken = settled = near.line <= self._covered  # an ending settles nothing: the same line may name its reason
        for index in readers:  # generic ones come last
            one = self._asked[index]
            if (one.generic and settled) or (one.generic > 1 and taken):
                continue
            if one.left <= 0:
                self.unread[one.name] += not one.silent
                taken = taken or not one.silent
                continue
            if self._reads_last(one, near):
                self._spent.add(index)
            found = []
            for event in one.reader.read(near):
                taken, settled = True, settled or event.role != "ending"
                self._covered = max(self._covered, near.line + event.covers)
                found.append(_placed(event, one.name, near))
                yield self._in_context(found[-1], near)
            if hasattr(one.reader, "takes") and one.reader.takes(near):
                taken = settled = True
            if one.forgets:
                self._remember(code_of(shape, index), found)

    def _reads_last(self, one: _Asked, near: Near) -> bool:
        """Counts a line that a format reads; True where it is the last one. A log of many kinds must not take all their shares, and a
        long line counts as several."""
        lines = 1 + len(near.raw) // USUAL_LINE
        one.left -= lines
        self._shares += lines / one.most
        return one.left <= 0 or (self._shares > MOST_SHARES and one.left <= one.most * (1 - SMALL_SHARE))

    def _remember(self, code: int, found: list[Event]) -> None:
        if found:
            self._loud.add(code)
            site = found[0].site if len(found) == 1 else None
            if self._site_of.setdefault(code, site) != site:
                self._site_of[code] = None  # they differ in more than in digits
        elif code not in self._loud.seen:
            self._quiet.add(code)

    def _in_context(self, event: Event, near: Near) -> Event:
        """Only the first of a site is shown, so that only its neighbours are looked at; of the others only the rank counts."""
        site = event.site
        if len(self._sites) > MOST_SITES or event.warning:
            return event
        if site in self._sites:
            return replace(event, context=(("rank", rank),)) if (rank := rank_in(near.raw)) else event
        self._sites.add(site)
        return replace(event, context=context(near))


@cache
def _encoded(marks: tuple[str, ...]) -> tuple[bytes, ...]:
    return tuple(mark.encode() for mark in marks)


@lru_cache(maxsize=2)
def _marks(readers: tuple[tuple[tuple[bytes, ...], bool], ...]) -> Marks:
    """To find the marks of all readers, by their place in this list. Made once for many logs: it takes longer than to read a short one."""
    return Marks(Mark(mark, index, exact) for index, (marks, exact) in enumerate(readers) for mark in marks)


def _places(text: bytes, one: _Asked) -> Iterator[int]:
    """Where its marks stand in a long line; of those that stand close together, the first."""
    for mark in one.marks if one.exact else [mark.lower() for mark in one.marks]:
        at = text.find(mark)
        while at >= 0:
            yield at
            at = text.find(mark, at + LEAD)


def _word_before(text: bytes, at: int) -> int:
    """The beginning of a word shortly before a mark."""
    return text.find(b" ", at - LEAD, at) + 1 or at - LEAD


def _late(event: Event) -> Event:
    return reported(event) if event.role == "refusal" and not event.warning and sticky(event.quote) else event


def _placed(event: Event, name: str, near: Near) -> Event:
    quote = (event.quote or near.text.strip())[:LONGEST_QUOTE]
    if event.role == "refusal" and not event.warning and event.kind not in BUILDS and sticky(quote):
        event = reported(event)
    clock, time = stamp(near.raw)
    return replace(event, format=name, line=event.line or near.line, quote=quote, clock=clock, time=time)
