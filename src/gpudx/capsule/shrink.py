"""A smaller capsule that fails in the same way.

Every step proposes a smaller capsule and keeps it only if `fails` says that it still shows the same failure, and no other. Steps that
often help most come first; the search ends when a whole round changes nothing, or when the time is over.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from gpudx.capsule.compare import element_type
from gpudx.capsule.model import Argument, Buffer, Capsule, Code

Fails = Callable[[Capsule], bool]
SMALLEST = 16  # bytes of a buffer
NEAR = 8  # a number is an extent's if it differs by at most an eighth
# Lines that decide which work-item does what: without a guard it would be another fault.
DECIDES = re.compile(r"\b(if|else|for|while|do|switch|case|return|break|continue|barrier|goto)\b|[?]")


@dataclass
class Log:
    """What was tried."""

    tried: int = 0
    most: int = 100_000
    kept: list[str] = field(default_factory=list)


def shrink(capsule: Capsule, fails: Fails, seconds: float = 120.0, attempts: int = 100_000) -> tuple[Capsule, Log]:
    """The smallest capsule that was found, without results: they belong to other inputs."""
    log, until = Log(most=attempts), time.monotonic() + seconds
    best = replace(capsule, buffers=tuple(replace(one, after=None) for one in capsule.buffers))
    changed = True
    while changed and time.monotonic() < until and log.tried < log.most:
        changed = False
        for name, step in STEPS:
            smaller = _pushed(best, step, fails, until, log)
            if smaller is not None:
                best, changed = smaller, True
                log.kept.append(name)
    return best, log


Step = Callable[[Capsule], Iterator[Capsule]]


def _pushed(best: Capsule, step: Step, fails: Fails, until: float, log: Log) -> Capsule | None:
    """Take a step's proposals as long as one of them still fails."""
    found = None
    while time.monotonic() < until and log.tried < log.most:
        for smaller in step(found or best):
            if time.monotonic() >= until or log.tried >= log.most:
                return found
            log.tried += 1
            if fails(smaller):
                found = smaller
                break
        else:
            return found
    return found


# ---- fewer work-items, with everything that has the same extent ----


def together(capsule: Capsule) -> Iterator[Capsule]:
    """Take the same share from a dimension, from numbers and from buffers that have about its extent, or a multiple of it: another
    dimension's extent, or a row for each work-item. Values that index a smaller buffer become smaller with it."""
    shape = capsule.geometry
    for at, extent in enumerate(shape.global_):
        unit = shape.local[at] if shape.local else 1
        for share in (64, 8, 2):
            keep = max(unit, extent // share // unit * unit)
            less = (extent - keep) // unit * unit
            if less > 0:
                many = _without(capsule, at, less, True)
                indexed = _reindexed(capsule, many)
                yield from (one for one in (indexed, many) if one is not None)
                if any(_multiple(number, extent, less) > 1 for number in _sizes(capsule)):
                    yield _without(capsule, at, less, False)


def _without(capsule: Capsule, at: int, less: int, multiples: bool) -> Capsule:
    extent = capsule.geometry.global_[at]
    arguments = tuple(_less(one, extent, less, multiples) for one in capsule.arguments)
    buffers = tuple(_cut(capsule, one, extent, less, multiples) for one in capsule.buffers)
    return replace(_grid(capsule, at, extent - less), arguments=arguments, buffers=buffers)


def _multiple(number: int, extent: int, less: int) -> int:
    """How many times the extent a number is, about; 0: it has nothing to do with it."""
    times = (number + extent // 2) // extent
    return times if times and times * less < number and abs(number - times * extent) <= extent // NEAR else 0


def _taken(number: int, extent: int, less: int, multiples: bool) -> int:
    times = _multiple(number, extent, less)
    return times * less if times == 1 or multiples else 0


def _sizes(capsule: Capsule) -> list[int]:
    """Numbers among the arguments, and elements of buffers."""
    numbers = [number for one in capsule.arguments if (number := _number(one)) is not None]
    return numbers + [one.size // _element(capsule, one).itemsize for one in capsule.buffers]


def _element(capsule: Capsule, one: Buffer) -> np.dtype[Any]:
    argument = capsule.argument_of(one.number)
    return element_type(argument.type if argument else "")


def _number(one: Argument) -> int | None:
    if one.kind != "value" or len(one.value) not in (4, 8) or element_type(one.type).kind not in "iu":
        return None
    return int.from_bytes(one.value, "little", signed=True)


def _less(one: Argument, extent: int, less: int, multiples: bool) -> Argument:
    number = _number(one)
    if number is None:
        return one
    return replace(
        one, value=(number - _taken(number, extent, less, multiples)).to_bytes(len(one.value), "little", signed=True)
    )


def _cut(capsule: Capsule, one: Buffer, extent: int, less: int, multiples: bool) -> Buffer:
    size = _element(capsule, one).itemsize
    if one.parent is not None or one.svm or one.before is None:
        return one
    return _resized(one, one.size - _taken(one.size // size, extent, less, multiples) * size)


def _reindexed(capsule: Capsule, smaller: Capsule) -> Capsule | None:
    """Integers that reach near the end of a buffer which became smaller: they keep their distance from its end; others begin anew."""
    sizes = {
        one.size // size: smaller.buffers[one.number].size // size
        for one in capsule.buffers
        if (size := _element(capsule, one).itemsize) and one.size != smaller.buffers[one.number].size
    }
    changed, buffers = False, []
    for one in smaller.buffers:
        kind = _element(capsule, one)
        if one.before is None or kind.kind not in "iu" or kind.itemsize < 4:
            buffers.append(one)
            continue
        whole = len(one.before) // kind.itemsize * kind.itemsize
        values = one.before[:whole].view(kind)
        highest = int(values.max()) if len(values) else 0
        count = next((n for n in sizes if abs(highest + 1 - n) <= n // NEAR), 0)
        if count and int(values.min()) >= 0:
            left = sizes[count]
            content = one.before.copy()
            near_end = values >= count - left // 2
            content[:whole].view(kind)[:] = np.where(near_end, values - (count - left), values % max(1, left // 2))
            one, changed = replace(one, before=content), True
        buffers.append(one)
    return replace(smaller, buffers=tuple(buffers)) if changed else None


def _resized(one: Buffer, size: int) -> Buffer:
    return replace(one, size=size, before=None if one.before is None else one.before[:size].copy())


def _grid(capsule: Capsule, at: int, size: int, offset: int | None = None) -> Capsule:
    shape = capsule.geometry
    sizes = tuple(size if i == at else one for i, one in enumerate(shape.global_))
    offsets = shape.offset
    if offset is not None:
        before = shape.offset or (0,) * len(sizes)
        offsets = tuple(one + offset if i == at else one for i, one in enumerate(before))
    return replace(capsule, geometry=replace(shape, global_=sizes, offset=offsets if any(offsets) else ()))


def fewer_items(capsule: Capsule) -> Iterator[Capsule]:
    """The first or the last part of a dimension; the last begins at an offset, which only OpenCL has."""
    shape = capsule.geometry
    for at, extent in enumerate(shape.global_):
        unit = shape.local[at] if shape.local else 1
        for share in (64, 8, 2):
            keep = max(unit, extent // share // unit * unit)
            if keep >= extent:
                continue
            yield _grid(capsule, at, keep)
            if capsule.api == "opencl":
                yield _grid(capsule, at, keep, extent - keep)


def from_the_front(capsule: Capsule) -> Iterator[Capsule]:
    """Begin at work-item 0 again, without the elements before: of all buffers that are long enough, or of all but one."""
    shape = capsule.geometry
    if len(shape.global_) != 1 or not shape.offset:
        return
    (first,), (extent,) = shape.offset, shape.global_
    able = []
    for one in capsule.buffers:
        size = _element(capsule, one).itemsize
        times = max(1, one.size // size // (first + extent))
        if one.parent is None and not one.svm and one.before is not None and one.size > times * first * size:
            able.append(replace(one, size=one.size - times * first * size, before=one.before[times * first * size :].copy()))
    grid = replace(capsule, geometry=replace(shape, offset=()))
    for left in (None, *able):
        changed = {one.number: one for one in able if one is not left}
        yield replace(grid, buffers=tuple(changed.get(one.number, one) for one in capsule.buffers))


# ---- less data ----


def zeros(capsule: Capsule) -> Iterator[Capsule]:
    """Zeros, or one value, instead of a buffer's content."""
    for one in capsule.buffers:
        if one.before is None or not one.before.any():
            continue
        yield _with(capsule, replace(one, before=np.zeros_like(one.before)))
        argument = capsule.argument_of(one.number)
        kind = element_type(argument.type if argument else "")
        count = one.size // kind.itemsize
        if count and not _is_constant(one):
            same = np.zeros_like(one.before)
            same[: count * kind.itemsize] = np.tile(one.before[: kind.itemsize], count)
            yield _with(capsule, replace(one, before=same))


def _is_constant(one: Buffer) -> bool:
    """One word of 8 bytes, over and over?"""
    assert one.before is not None
    return len(one.before) > 8 and bool((one.before[8:] == one.before[:-8]).all())


def half_zeros(capsule: Capsule) -> Iterator[Capsule]:
    """Zeros in one half of what is not zero."""
    for one in capsule.buffers:
        if one.before is None:
            continue
        used = np.flatnonzero(one.before)
        if len(used) < 2:
            continue
        middle = int(used[len(used) // 2]) // 16 * 16
        for part in (slice(middle, None), slice(None, middle)):
            if one.before[part].any() and one.before.any():
                content = one.before.copy()
                content[part] = 0
                if content.any():
                    yield _with(capsule, replace(one, before=content))


def _with(capsule: Capsule, one: Buffer) -> Capsule:
    return replace(capsule, buffers=tuple(one if old.number == one.number else old for old in capsule.buffers))


def smaller_buffers(capsule: Capsule) -> Iterator[Capsule]:
    """The first bytes of a buffer."""
    parents = {one.parent for one in capsule.buffers}
    for one in capsule.buffers:
        if one.parent is not None or one.number in parents or one.svm:
            continue
        for size in sorted({SMALLEST, one.size // 64, one.size // 8, one.size // 2}):
            size = size // SMALLEST * SMALLEST
            if SMALLEST <= size < one.size:
                yield _with(capsule, _resized(one, size))


def smaller_indexed(capsule: Capsule) -> Iterator[Capsule]:
    """The first elements of a buffer that integers index, with smaller integers, and numbers that are its size."""
    for one in capsule.buffers:
        size = _element(capsule, one).itemsize
        count = one.size // size
        if one.parent is not None or one.svm or one.before is None:
            continue
        for share in (64, 8, 2):
            left = max(4, count // share)
            if left >= count:
                continue
            smaller = _reindexed(capsule, _with(capsule, _resized(one, left * size)))
            if smaller is not None:
                numbers = tuple(_less(each, count, count - left, False) for each in smaller.arguments)
                if numbers != smaller.arguments:
                    yield replace(smaller, arguments=numbers)
                yield smaller


def zero_values(capsule: Capsule) -> Iterator[Capsule]:
    for one in capsule.arguments:
        if one.kind == "value" and any(one.value):
            bare = replace(one, value=bytes(len(one.value)))
            yield replace(
                capsule, arguments=tuple(bare if old.index == one.index else old for old in capsule.arguments)
            )


# ---- less source ----


def less_source(capsule: Capsule) -> Iterator[Capsule]:
    """The source without one function, declaration or line of the kernel."""
    code = capsule.code("source")
    if code is None or len(code.data) > 1 << 20:
        return
    text = code.data.decode(errors="replace")
    parts = chunks(text)
    for at in range(len(parts)):
        if not re.search(rf"\b{re.escape(capsule.kernel)}\s*\(", parts[at]):
            yield _with_source(capsule, "".join(parts[:at] + parts[at + 1 :]))
    lines = text.splitlines(keepends=True)
    for at in reversed(range(len(lines))):
        if lines[at].strip() and lines[at].strip() not in "{}" and not DECIDES.search(lines[at]):
            yield _with_source(capsule, "".join(lines[:at] + lines[at + 1 :]))


def chunks(text: str) -> list[str]:
    """Pieces of a source that end with a `}` or `;` at the outer level, or with a directive's line."""
    found, begin, depth, at = [], 0, 0, 0
    while at < len(text):
        if text.startswith("//", at) or (text[at] == "#" and not text[begin:at].strip()):
            end = text.find("\n", at)
            at = len(text) if end < 0 else end
            if depth == 0 and text[begin:at].lstrip().startswith("#"):
                found.append(text[begin : at + 1])
                begin = at + 1
        elif text.startswith("/*", at):
            end = text.find("*/", at)
            at = len(text) if end < 0 else end + 1
        elif text[at] in "{(":
            depth += 1
        elif text[at] in "})":
            depth -= 1
            if depth == 0 and text[at] == "}" and "(" in text[begin:at].partition("{")[0]:  # not that of a struct
                found.append(text[begin : at + 1])
                begin = at + 1
        elif text[at] == ";" and depth == 0:
            found.append(text[begin : at + 1])
            begin = at + 1
        at += 1
    return [*found, text[begin:]] if text[begin:].strip() else found


def _with_source(capsule: Capsule, text: str) -> Capsule:
    others = tuple(one for one in capsule.codes if one.kind not in ("source", "binary", "il"))
    return replace(capsule, codes=(Code("source", text.encode()), *others))


STEPS: tuple[tuple[str, Step], ...] = (
    ("constant data", zeros),
    ("smaller extents", together),
    ("fewer work-items", fewer_items),
    ("from the front", from_the_front),
    ("smaller buffers", smaller_buffers),
    ("smaller indexes", smaller_indexed),
    ("zero arguments", zero_values),
    ("less data", half_zeros),
    ("shorter source", less_source),
)
