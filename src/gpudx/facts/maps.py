"""/proc/PID/maps as the recorder kept it: which file or kind of memory an address belongs to."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

_LINE = re.compile(r"([0-9a-f]{1,16})-([0-9a-f]{1,16}) ([r-][w-][x-][sp-]) ([0-9a-f]{1,16}) \S+ \d+ *(.*)")
_DELETED = " (deleted)"
# Files without a name on any disk: shared anonymous memory in the kernel's words.
_NAMELESS = ("/memfd:", "/SYSV", "/dev/zero")


@dataclass(frozen=True)
class Mapping:
    """One line of /proc/PID/maps. `path` is "" for anonymous memory, or a name in brackets such as [heap]."""

    start: int
    end: int
    access: str
    offset: int
    path: str
    deleted: bool = False

    @property
    def executable(self) -> bool:
        return "x" in self.access

    @property
    def is_file(self) -> bool:
        return self.path.startswith("/") and not (self.deleted and self.path.startswith(_NAMELESS))


def _parse_line(line: str) -> Mapping | None:
    match = _LINE.fullmatch(line.rstrip())
    if not match:
        return None
    start, end, access, offset, path = match.groups()
    if int(start, 16) >= int(end, 16):
        return None
    path = path.replace("\\012", "\n")
    deleted = path.endswith(_DELETED) and not os.path.lexists(path)
    path = path.removesuffix(_DELETED) if deleted else path
    return Mapping(int(start, 16), int(end, 16), access, int(offset, 16), path, deleted)


def parse_maps(text: str) -> list[Mapping]:
    """The mappings of a text in the format of /proc/PID/maps, by address. Lines that make no sense are left out."""
    found = (_parse_line(line) for line in text.split("\n"))
    return sorted((m for m in found if m), key=lambda m: m.start)
