"""The numbers that a loop without an end depends on, as the checked kernel reported them in its last turn."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from gpudx.diagnose.kernel_check_reports import Failure
from gpudx.kernel_checks.values import fit
from gpudx.text import listed


@dataclass(frozen=True)
class Number:
    name: str
    value: str
    stays: bool  # the last turn left it as it was


def numbers(f: Failure) -> tuple[Number, ...]:
    """Nothing where two turns of the loop were not seen one after the other."""
    if f.kind != "loop" or not f.flags & 1:
        return ()
    found = zip(f.site.watched, (f.offset, f.size, f.more), range(1, 4), strict=False)
    return tuple(
        Number(text.split()[0], _shown(bits, text.split()[1]), bool(f.flags >> at & 1)) for text, bits, at in found
    )


def sentence(f: Failure) -> str:
    """ "`lo` stays 13 and `hi` stays 14."; "" where nothing is known."""
    found = numbers(f)
    parts = [
        f"`{one.name}` stays {one.value}" if one.stays else f"`{one.name}` is {one.value} and still changes"
        for one in found
    ]
    return f"{listed(parts)}." if parts else ""


def step(f: Failure) -> str | None:
    """What to look at, where an iteration changes nothing."""
    found = numbers(f)
    if not found or not all(one.stays for one in found):
        return None
    values = listed([f"{one.name} = {one.value}" for one in found])
    changed = "neither" if len(found) == 2 else "nothing"
    return f"Make every iteration bring `{f.site.text}` closer to its end: one with {values} changes {changed}."


def _shown(bits: int, kind: str) -> str:
    low = bits & ((1 << 64) - 1)
    if kind[0] != "f":
        return f"{fit(low, kind):,}"
    data = low.to_bytes(8, "little")
    number = struct.unpack("<f", data[:4])[0] if kind == "f32" else struct.unpack("<d", data)[0]
    return "NaN" if number != number else f"{number:.9g}"
