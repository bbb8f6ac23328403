"""What Oclgrind wrote to its log, as data: what happened, in which kernel, at which line, by which work-item.

The messages are those of Oclgrind 21.10 (src/plugins/MemCheck.cpp, RaceDetector.cpp, src/core/WorkGroup.cpp). Only those are
read that the checks inside kernels make, too: accesses out of bounds, races and barriers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

BOUNDS = re.compile(r"^Invalid (read|write) of size (\d+) at (\w+) memory address (0x[0-9a-fA-F]+)", re.M)
ARRAY = re.compile(r"^Index \((-?\d+)\) exceeds static array size \((\d+)\)", re.M)
RACE = re.compile(r"^([\w-]+) data race at (\w+) memory address (0x[0-9a-fA-F]+)", re.M)
DIVERGENCE = re.compile(r"^Work-group divergence detected", re.M)
KERNEL = re.compile(r"^\s*Kernel: +(\w+)", re.M)
ITEM = re.compile(r"Global\((\d+),(\d+),(\d+)\) Local\((\d+),(\d+),(\d+)\) Group\((\d+),(\d+),(\d+)\)")
LINE = re.compile(r"At line (\d+) (?:\(column \d+\) )?of (\S+?):?$", re.M)
CUT = re.compile(r"(\d+) errors generated - suppressing")
LONGEST = 64 << 20


@dataclass(frozen=True)
class Report:
    kind: str  # "bounds", "race" or "barrier"
    kernel: str
    does: str = ""  # "read" or "write"
    width: int = 0
    space: str = ""
    address: int | None = None
    lines: tuple[int, ...] = ()  # of a race: of both accesses
    item: tuple[int, int, int] | None = None
    local: tuple[int, int, int] | None = None
    group: tuple[int, int, int] | None = None
    said: str = ""  # its first line


def read(text: str) -> list[Report]:
    """One per kernel, kind and line: the first of each."""
    out: dict[tuple[str, str, tuple[int, ...]], Report] = {}
    for report in _all(text[:LONGEST]):
        out.setdefault((report.kind, report.kernel, tuple(sorted(report.lines))), report)
    return list(out.values())


def was_cut(text: str) -> bool:
    """Did it stop writing? Then a kernel that it does not name may be faulty all the same."""
    return CUT.search(text) is not None


def _all(text: str) -> Iterator[Report]:
    for block in re.split(r"\n(?=\S)", text):
        head = block.lstrip("\n")
        report = _bounds(head) or _array(head) or _race(head) or _barrier(head)
        if report is not None:
            yield report


def _common(block: str) -> dict[str, object]:
    kernel, item = KERNEL.search(block), ITEM.search(block)
    ids = [int(n) for n in item.groups()] if item else []
    return {
        "kernel": kernel[1] if kernel else "",
        "lines": tuple(int(hit[1]) for hit in LINE.finditer(block)),
        "item": tuple(ids[:3]) or None,
        "local": tuple(ids[3:6]) or None,
        "group": tuple(ids[6:]) or None,
        "said": block.splitlines()[0].strip()[:200],
    }


def _bounds(block: str) -> Report | None:
    found = BOUNDS.match(block)
    if found is None:
        return None
    does, width, space, address = found.groups()
    return Report("bounds", does=does, width=int(width), space=space, address=int(address, 16), **_common(block))  # type: ignore[arg-type]


def _array(block: str) -> Report | None:
    return Report("bounds", **_common(block)) if ARRAY.match(block) else None  # type: ignore[arg-type]


def _race(block: str) -> Report | None:
    found = RACE.match(block)
    if found is None:
        return None
    return Report("race", space=found[2], address=int(found[3], 16), **_common(block))  # type: ignore[arg-type]


def _barrier(block: str) -> Report | None:
    return Report("barrier", **_common(block)) if DIVERGENCE.match(block) else None  # type: ignore[arg-type]
