"""Where the values of two runs begin to differ, by hashes of what each launch got and left (gpudx run --values)."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from pathlib import Path

from gpudx.capsule import raw

Key = tuple[str, int]  # kernel, and the number among its launches


@dataclass
class Launch:
    """Hashes by argument."""

    number: int
    before: dict[int, int] = field(default_factory=dict)
    after: dict[int, int] = field(default_factory=dict)


def launches(folder: Path) -> dict[Key, Launch]:
    """The launches of the process that made most of them."""
    every = [_read(path) for path in sorted(folder.glob("values-*.raw"))]
    return max(every, key=len, default={})


def _read(path: Path) -> dict[Key, Launch]:
    found: dict[Key, Launch] = {}
    for record in raw.records(path):
        if record.kind != raw.HASHES:
            continue
        (count,) = struct.unpack_from("<Q", record.data)
        words = struct.unpack_from(f"<{2 * count}Q", record.data, 8)
        kernel = record.data[8 + 16 * count :].decode(errors="replace")
        one = found.setdefault((kernel, record.b), Launch(record.a))
        (one.after if record.c else one.before).update(zip(words[::2], words[1::2], strict=True))
    return found


def first_difference(good: dict[Key, Launch], bad: dict[Key, Launch]) -> tuple[bool, str]:
    """(do they agree?, one sentence). Launches are compared in the order of the first run, by kernel."""
    compared = 0
    inputs = ""
    for (kernel, number), one in sorted(good.items(), key=lambda item: item[1].number):
        other = bad.get((kernel, number))
        name = f"launch {number:,} of {kernel} (launch {one.number:,} of the first run)"
        if other is None:
            return False, f"{name} is missing in the second run; the {compared:,} launches before it agree"
        got = _unlike(one.before, other.before)
        left = _unlike(one.after, other.after)
        if got and not inputs:
            inputs = f"{name} gets other contents in {_arguments(got)}, and no launch before it made them: compare what the host writes"
        if left and not got:
            return False, f"{name} gets the same contents in both runs and leaves others in {_arguments(left)}"
        if left and got:
            return False, inputs
        compared += 1
    return (False, inputs) if inputs else (True, f"all {compared:,} launches read and write the same contents")


def _unlike(one: dict[int, int], other: dict[int, int]) -> list[int]:
    return [index for index in sorted(one.keys() | other.keys()) if one.get(index) != other.get(index)]


def _arguments(found: list[int]) -> str:
    return f"argument{'s' if len(found) > 1 else ''} {', '.join(map(str, found))}"
