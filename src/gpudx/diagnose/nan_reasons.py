"""What made a NaN or an infinity: the operation with the values of its operands, and who wrote the elements that they come from."""

from __future__ import annotations

import json
import math
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass

from gpudx.diagnose.access_numbers import Numbers, Why
from gpudx.diagnose.kernel_check_reports import Failure
from gpudx.diagnose.last_writers import last_writer
from gpudx.kernel_checks import values

FLOAT_BYTES = 4
MASK = (1 << 64) - 1
ARCS = ("acos", "asin", "acospi", "asinpi", "atanh")
PREFIX = re.compile("^(native_|half_)")


def operands(f: Failure) -> tuple[float, ...]:
    """As the kernel reported them; none where it did not."""
    raw = (f.offset & MASK, f.size & MASK)[: f.flags]
    return tuple(_number(one, f.width) for one in raw) if f.kind == "nan" and len(f.site.watched) == f.flags + 1 else ()


def _number(bits: int, width: int) -> float:
    data = bits.to_bytes(8, "little")
    return float(struct.unpack("<f", data[:4])[0] if width == FLOAT_BYTES else struct.unpack("<d", data)[0])


def why(f: Failure) -> Why | None:
    given = operands(f)
    if not given:
        return None
    name, texts = PREFIX.sub("", f.site.watched[0]), f.site.watched[1:]
    shown = " and ".join(f"`{text}` is {_shown(value)}" for text, value in zip(texts, given, strict=True) if not _is_literal(text))
    rule = _rule(name, given, bool(f.more))
    if not shown:
        return None
    text = f"{shown}: {rule}." if rule else f"{shown}."
    sources = list(_sources(f))
    return Why("not-a-number", text, tuple(one.step for one in sources[:1]), None, tuple(one.fact for one in sources))


def _is_literal(text: str) -> bool:
    return re.fullmatch(r"[-+]?[\d.]+(?:[eE][-+]?\d+)?[fF]?", text) is not None


def _shown(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return ("-" if value < 0 else "") + "infinity" if math.isinf(value) else f"{value:.6g}"


def _rule(name: str, given: tuple[float, ...], is_nan: bool) -> str:
    """ "the square root of a negative number is NaN"; "" where the operands are not known to make it."""
    first, second = given[0], given[1] if len(given) > 1 else None
    makes = "NaN" if is_nan else "infinite"
    if name in ("/", "divide") and second is not None:
        if second == 0:
            return "0 / 0 is NaN" if first == 0 else "a division by 0 is infinite"
        both = math.isinf(first) and math.isinf(second)
        return "infinity / infinity is NaN" if both else "" if is_nan else "the quotient is larger than the type can hold"
    if name in ("sqrt", "rsqrt"):
        root = "the square root" if name == "sqrt" else "the reciprocal square root"
        return f"{root} of a negative number is NaN" if first < 0 else f"{root} of 0 is infinite" if first == 0 else ""
    if name.startswith("log"):
        zero = -1.0 if name == "log1p" else 0.0
        below = "a number below -1" if name == "log1p" else "a negative number"
        what = "log1p" if name == "log1p" else "the logarithm"
        return f"{what} of {below} is NaN" if first < zero else f"{what} of {zero:.0f} is infinite" if first == zero else ""
    if name.startswith("exp"):
        return "the exponential is larger than the type can hold" if not is_nan else ""
    if name.startswith("pow") and second is not None:
        if first < 0 and is_nan:
            return "a negative number to a power that is not whole is NaN" if name == "pow" else "powr of a negative number is NaN"
        return "0 to a negative power is infinite" if first == 0 and second < 0 else f"the power is {makes}"
    if name in ARCS:
        outside = f"{name} of a number outside of -1 to 1 is NaN"
        return outside if abs(first) > 1 else f"{name} of {first:.0f} is infinite" if not is_nan else ""
    if name == "acosh":
        return "acosh of a number below 1 is NaN" if first < 1 else ""
    if name in ("fmod", "remainder") and second == 0:
        return f"{name} by 0 is NaN"
    return "a reciprocal of 0 is infinite" if name == "recip" and first == 0 else ""


LARGEST = {4: "88.7", 8: "709.7"}  # exp of more is larger than a float, a double


def keep_finite(f: Failure, where: str) -> str:
    """What to do about an operation that became infinite."""
    name = PREFIX.sub("", f.site.watched[0]) if f.site.watched else ""
    if name in ("exp", "expm1"):
        most = LARGEST.get(f.width, LARGEST[4])
        return f"Keep `{f.site.text}` ({where}) finite: {name} overflows above {most}. In a softmax, subtract the largest argument first."
    operand = f.site.watched[1] if len(f.site.watched) > 1 else ""
    if name.startswith("log") and operand:
        return f"Keep `{operand}` above {'-1' if name == 'log1p' else '0'} before `{f.site.text}` ({where})."
    return f"Keep `{f.site.text}` ({where}) finite: check its operands first."


@dataclass(frozen=True)
class Source:
    """An element that an operand comes from, and who wrote its buffer last."""

    fact: str
    step: str


def _sources(f: Failure) -> Iterator[Source]:
    numbers = Numbers(f)
    if numbers.launch is None:
        return
    given = {int(one["index"]): one for one in f.facts.launches.values(numbers.launch)}
    for text, argument, index in f.site.loads:
        try:
            place = values.value(json.loads(index), numbers.world)
        except values.Unknown:
            continue
        row = int(given[argument]["object"]) if argument in given else -1
        if row >= 0:
            yield _source(f, row, f"`{text.partition('[')[0].strip()}[{place}]`")


def _source(f: Failure, row: int, element: str) -> Source:
    label, writer = f.facts.objects.label(row), last_writer(f.facts, row, f.position)
    if writer is None:
        return Source(f"{element} is in {label}, which no call wrote after it was created", f"Check the initial value of {element}.")
    if writer.is_kernel:
        fact = f"{element} is in {label}, and {writer.text} was the last that was passed it for writing"
        return Source(fact, f"Check what {writer.text} stores in {element}.")
    return Source(f"{element} is in {label}, which {writer.text} wrote last", f"Check the value that {writer.text} wrote to {element}.")
