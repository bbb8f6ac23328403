"""Two arguments of a launch in one buffer, each at an offset of its own: where they begin, as the kernel adds its offset arguments."""

from __future__ import annotations

import re

from gpudx.diagnose.access_numbers import Numbers, Scalar
from gpudx.diagnose.kernel_check_reports import Failure
from gpudx.diagnose.race_reasons import Race


def ranges(f: Failure, other: int) -> str:
    """ "`w` begins at byte 17,024 (argument 1 `off0`) and `y` at byte 20,736 (argument 5 `off2`) of the same buffer: byte 20,736 is in
    both"; "" where an offset is not known."""
    starts = _starts(f, other)
    if starts is None:
        return ""
    mine, its = starts
    own, name = f.thing.name if f.thing else "", _name(f, other)
    first = f"`{own}` begins at byte {mine.value:,} (argument {mine.argument} `{mine.name}`)"
    second = f"`{name}` at byte {its.value:,} (argument {its.argument} `{its.name}`)"
    return f"{first} and {second} of the same buffer: byte {f.offset:,} is in both"


def step(f: Failure, other: int) -> str:
    """The offset to change; "" where an offset is not known."""
    starts = _starts(f, other)
    if starts is None:
        return ""
    mine, its = starts
    own, name = f.thing.name if f.thing else "", _name(f, other)
    lower, upper = ((own, mine), (name, its)) if mine.value <= its.value else ((name, its), (own, mine))
    past = f.offset + max(f.width, 1)
    return (
        f"Check the size that `{lower[0]}` has in the buffer: it begins at byte {lower[1].value:,} and needs more than"
        f" {past - 1 - lower[1].value:,} bytes, and `{upper[0]}` begins {upper[1].value - lower[1].value:,} bytes after it."
    )


def _name(f: Failure, argument: int) -> str:
    kernel = f.facts.sites.at(f.position).kernel
    return next((one.name for one in f.things if (one.function, one.index) == (kernel, argument)), "")


def _starts(f: Failure, other: int) -> tuple[Scalar, Scalar] | None:
    """The offsets that the kernel adds to this argument and to another one, where the byte lies behind both."""
    numbers = Numbers(f)
    byte_sized = f.thing is not None and f.thing.element == 1 and f.kind == "race" and not Race(f).n.is_local
    if not byte_sized or f.thing is None:
        return None
    mine, its = (_added(one, f.body, numbers) for one in (f.thing.name, _name(f, other)))
    if mine is None or its is None or max(mine.value, its.value) > f.offset or mine.value == its.value:
        return None
    return mine, its


def _added(name: str, body: str, numbers: Numbers) -> Scalar | None:
    """The argument that the kernel adds to a pointer, where it adds one only."""
    found = {one for one in re.findall(rf"\b{re.escape(name)}\s*\+\s*(\w+)", body) if name}
    return next((one for one in numbers.scalars if {one.name} == found), None)
