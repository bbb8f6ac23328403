"""Where the values of two runs begin to differ, by hashes of what each launch got and left (gpudx run --values)."""

from __future__ import annotations

import struct
from collections.abc import Collection
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


def first_difference(
    good: dict[Key, Launch], bad: dict[Key, Launch], fresh: Collection[tuple[str, int, int]] = ()
) -> tuple[bool, str]:
    """(do they agree?, one sentence). Launches are compared in the order of the first run, by kernel. `fresh`: arguments (kernel, number,
    argument) that held uninitialized memory before the launch, which differs from run to run and is no input."""
    compared = 0
    inputs = ""
    for (kernel, number), one in sorted(good.items(), key=lambda item: item[1].number):
        other = bad.get((kernel, number))
        name = f"launch {number:,} of {kernel} (launch {one.number:,} of the first run)"
        if other is None:
            return False, f"{name} is missing in the second run; the {compared:,} launches before it agree"
        got = [index for index in _unlike(one.before, other.before) if (kernel, number, index) not in fresh]
        left = _unlike(one.after, other.after)
        if got and not inputs:
            inputs = f"{name} gets other data in {_arguments(got)}, which no launch before it made: compare what the host passes and writes"
        if left and not got:
            began = [index for index in left if (kernel, number, index) in fresh]
            unset = f"; {_arguments(began)} held uninitialized memory before it, which stays where it writes nothing" if began else ""
            return False, f"{name} gets the same contents in both runs and leaves others in {_arguments(left)}{unset}"
        if left and got:
            return False, inputs
        compared += 1
    return (False, inputs) if inputs else (True, f"all {compared:,} launches read and write the same contents")


def _unlike(one: dict[int, int], other: dict[int, int]) -> list[int]:
    return [index for index in sorted(one.keys() | other.keys()) if one.get(index) != other.get(index)]


def _arguments(found: list[int]) -> str:
    return f"argument{'s' if len(found) > 1 else ''} {', '.join(map(str, found))}"
