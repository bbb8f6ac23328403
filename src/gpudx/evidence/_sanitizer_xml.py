"""The XML that compute-sanitizer writes with --xml: the same records, with their parts already taken apart.

There is no summary in it; the file is whole when its outermost element is closed. Entities are refused, so that a small
file cannot become a large one. Host frames are listed from the inside out, as in the text.

Checked against a file that compute-sanitizer of CUDA 13.0 wrote on an H200 (memcheck, kind Precise), and against the record of kind
Api in its documentation ("Suppressions", version 13.4). Names of elements of other kinds were seen in the tool's own binary, where
they stand in a record was not: of such records at least the text is read.
"""

from __future__ import annotations

from collections.abc import Iterator
from xml.parsers import expat

from gpudx.evidence._head import Source
from gpudx.evidence._lines import chunks
from gpudx.evidence._sanitizer_records import Dim, HostFrame, Location, Record
from gpudx.evidence._sanitizer_text import MOST_FRAMES, Draft, Parser, Totals, number

ROOT = "ComputeSanitizerOutput"
DEEPEST = 32
LONGEST = 1 << 16  # of one element's text


class _Refused(Exception):
    """An entity, or elements too deep."""


class XmlParser:
    """Yields records; `closed` says that the file was whole."""

    def __init__(self) -> None:
        self.totals = Totals()
        self.closed = False
        self._stack: list[str] = []
        self._text: list[str] = []
        self._fields: dict[str, str] = {}
        self._frames: list[dict[str, str]] = []
        self._done: list[Record] = []
        self._parser = expat.ParserCreate("utf-8")  # whatever the file says of itself
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._characters
        self._parser.EntityDeclHandler = self._entity

    def records(self, source: Source) -> Iterator[Record]:
        try:
            for chunk in chunks(source):
                self._parser.Parse(chunk, False)
                yield from self._taken()
            self._parser.Parse(b"", True)
        except (expat.ExpatError, _Refused) as error:
            yield from self._taken()
            self.totals.problem(f"the XML is broken: {error or 'entities are not allowed in it'}")

    def _taken(self) -> list[Record]:
        done, self._done = self._done, []
        return done

    def _entity(self, *_: object) -> None:
        raise _Refused

    def _start(self, name: str, _: dict[str, str]) -> None:
        if len(self._stack) >= DEEPEST:
            raise _Refused("elements are nested too deep")
        self._stack.append(name)
        self._text = []
        if name == "record":
            self._fields, self._frames = {}, []
        elif name == "frame" and len(self._frames) < MOST_FRAMES:
            self._frames.append({})

    def _characters(self, data: str) -> None:
        if len(self._text) < LONGEST:
            self._text.append(data[:LONGEST])

    def _end(self, name: str) -> None:
        text = "".join(self._text).strip()
        self._text = []
        self._stack.pop()
        if name == "record":
            self._done.append(_record(self._fields, self._frames))
        elif name == "frame" or not self._stack:
            self.closed |= not self._stack and name == ROOT
        elif "frame" in self._stack and self._frames:
            self._frames[-1][name] = text
        elif text:
            self._fields.setdefault("/".join([*self._stack[2:], name]), text)


def _record(fields: dict[str, str], frames: list[dict[str, str]]) -> Record:
    """The first line tells the kind, as in the text output; the elements fill in the rest."""
    text = fields.get("what/text") or fields.get("kind") or "?"
    draft = Parser()._headline(text) or Draft("hardware-exception", text, {})
    given = draft.fields
    _set(given, "size", _int(fields.get("what/size")))
    _set(given, "space", (fields.get("what/space") or "").strip("_ ").lower() or None)
    _set(
        given,
        "address",
        _int(fields.get("what/address") or fields.get("what/errorAddress") or fields.get("what/accessAddress")),
    )
    api = fields.get("what/api")
    _set(given, "api", api)
    _set(given, "code", _int(fields.get("what/result")))
    _set(given, "error" if api else "reason", fields.get("what/error"))
    _set(given, "reason", fields.get("what/message"))
    _set(given, "thread", _dim(fields, "who/threadIdx"))
    _set(given, "block", _dim(fields, "who/blockIdx"))
    _set(given, "host_at", fields.get("hostStack/saveLocation"))
    where = Location(fields.get("where/func"), _int(fields.get("where/pc")), _source(fields, "where/"))
    _set(given, "where", where if where != Location() else None)
    level = fields.get("level", "").lower()
    if level.startswith(("warn", "info")):
        given["severity"] = "warning" if level.startswith("warn") else "info"
    draft.host = [_frame(frame) for frame in frames]
    return draft.record()


def _set(given: dict[str, object], name: str, value: object) -> None:
    if value is not None:
        given[name] = value


def _int(text: str | None) -> int | None:
    if not text:
        return None
    try:
        return int(text[:30], 16) if text.lower().startswith("0x") else number(text)
    except ValueError:
        return None


def _dim(fields: dict[str, str], where: str) -> Dim | None:
    x, y, z = (_int(fields.get(f"{where}/{axis}")) for axis in "xyz")
    return None if x is None or y is None or z is None else (x, y, z)


def _frame(fields: dict[str, str]) -> HostFrame:
    return HostFrame(fields.get("func"), fields.get("module"), _int(fields.get("pc")), _source(fields))


def _source(fields: dict[str, str], prefix: str = "") -> str | None:
    path, line = fields.get(f"{prefix}path"), fields.get(f"{prefix}line")
    return f"{path}:{line}" if path and line else path
