"""Tables of abbreviations in debug information (DWARF 5, 7.5.3), of which few entries are ever asked for.

pyelftools builds every entry of a table, which takes most of the time that it needs for a unit. Here the entries are only found,
and one is built when it is asked for.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from functools import cached_property

from elftools.common.utils import struct_parse
from elftools.dwarf.abbrevtable import AbbrevDecl, AbbrevTable
from elftools.dwarf.dwarfinfo import DWARFInfo
from elftools.dwarf.structs import DWARFStructs

IMPLICIT_CONST = 0x21  # the form whose value stands in the table


class Abbreviations(AbbrevTable):
    """Stands in for pyelftools' own, whose constructor builds all entries and is therefore not called."""

    def __init__(self, data: bytes, offset: int, structs: DWARFStructs) -> None:
        self._data, self.structs = data, structs
        self._places = dict(_places(data, offset))
        self._built: dict[int, AbbrevDecl] = {}

    def get_abbrev(self, code: int) -> AbbrevDecl:
        if code not in self._built:
            stream = io.BytesIO(self._data[slice(*self._places[code])])
            self._built[code] = AbbrevDecl(code, struct_parse(self.structs.Dwarf_abbrev_declaration, stream))
        return self._built[code]


class LeanInfo(DWARFInfo):
    """pyelftools' debug information, with these tables."""

    def get_abbrev_table(self, offset: int) -> Abbreviations:
        if offset not in self._tables:
            self._tables[offset] = Abbreviations(self._abbreviations, offset, self.structs)
        return self._tables[offset]

    @cached_property
    def _tables(self) -> dict[int, Abbreviations]:
        return {}

    @cached_property
    def _abbreviations(self) -> bytes:
        section = self.debug_abbrev_sec
        if section is None:
            return b""
        section.stream.seek(0)
        return section.stream.read()


def _places(data: bytes, at: int) -> Iterator[tuple[int, tuple[int, int]]]:
    """(code, (begin, end)) of each entry of the table at `at`. IndexError where it is cut short."""
    while True:
        code, begin = _number(data, at)
        if not code:
            return
        _, at = _number(data, begin)  # its tag
        at = _past_attributes(data, at + 1)  # behind whether it has children
        yield code, (begin, at)


def _past_attributes(data: bytes, at: int) -> int:
    while True:
        name, at = _number(data, at)
        form, at = _number(data, at)
        if form == IMPLICIT_CONST:
            _, at = _number(data, at)
        if not name and not form:
            return at


def _number(data: bytes, at: int) -> tuple[int, int]:
    """A number of variable length (DWARF 5, 7.6), and where the next one begins."""
    value, shift = data[at] & 127, 7
    while data[at] & 128:
        at += 1
        value |= (data[at] & 127) << shift
        shift += 7
    return value, at + 1
