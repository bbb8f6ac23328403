"""Two contents of a buffer, element by element: equal, or how many differ, by how much, and where."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpudx.capsule.model import Argument, Bytes, Capsule

FLOATS = {"half": 2, "float": 4, "double": 8}
INTEGERS = {
    "char": "i1", "uchar": "u1", "short": "i2", "ushort": "u2", "int": "i4", "uint": "u4", "long": "i8", "ulong": "u8",
    "signed char": "i1", "unsigned char": "u1", "unsigned short": "u2", "unsigned int": "u4", "unsigned": "u4",
    "unsigned long": "u8", "size_t": "u8", "long long": "i8", "unsigned long long": "u8", "bool": "u1",
}  # fmt: skip
UNKNOWN = "u4"
ULP_EDGES = (1, 2, 4, 16, 256, 65536)
LANES = (2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)


def element_type(text: str) -> np.dtype[Any]:
    """Of a pointer type as drivers and sources spell it ("float4*"); words of 4 bytes where it is not known."""
    return known_type(re.sub(r"(?<=[a-z])(2|3|4|8|16)$", "", _base(text))) or np.dtype(f"<{UNKNOWN}")


def known_type(base: str) -> np.dtype[Any] | None:
    """Of the name of a number's type, without qualifiers; None: a structure, or a name that the program made."""
    if base in FLOATS:
        return np.dtype(f"<f{FLOATS[base]}")
    return np.dtype(f"<{INTEGERS[base]}") if base in INTEGERS else None


def _base(text: str) -> str:
    plain = re.sub(r"\b(const|restrict|volatile|__global|global|__restrict__?)\b", " ", text).replace("*", " ")
    return " ".join(plain.split())


def value_text(argument: Argument) -> str:
    """A value that was passed: a number if its type and size say so, else its bytes."""
    kind = None if "*" in argument.type else known_type(_base(argument.type))
    if kind is not None and kind.itemsize == len(argument.value):
        return f"{np.frombuffer(argument.value, kind)[0]:,}"
    return argument.value.hex()


@dataclass(frozen=True)
class Difference:
    """How one buffer differs."""

    buffer: int
    type: str
    elements: int
    differing: int
    first: int
    first_expected: str
    first_got: str
    last: int
    pattern: str = ""
    worst_ulps: int | None = None  # None: no numbers that can be compared so
    ulps: tuple[tuple[str, int], ...] = ()  # how many differ by how much
    newly_nonfinite: int = 0


def compare(capsule: Capsule, expected: dict[int, Bytes], got: dict[int, Bytes]) -> list[Difference]:
    """The buffers that differ."""
    return [
        found
        for number in sorted(expected)
        if number in got and (found := difference(capsule, number, expected[number], got[number])) is not None
    ]


def difference(capsule: Capsule, number: int, expected: Bytes, got: Bytes) -> Difference | None:
    if np.array_equal(expected, got):
        return None
    argument = capsule.argument_of(number)
    kind = element_type(argument.type if argument else "")
    size = len(expected) // kind.itemsize * kind.itemsize
    one, other = expected[:size].view(kind), got[:size].view(kind)
    raw = np.dtype(f"<u{kind.itemsize}")
    where = np.flatnonzero(expected[:size].view(raw) != got[:size].view(raw))
    if not len(where):  # only a tail that is no whole element
        kind, one, other = np.dtype("u1"), expected, got
        where = np.flatnonzero(one != other)
    worst, histogram, nonfinite = (None, (), 0) if kind.kind != "f" else _ulps(one[where], other[where])
    return Difference(
        buffer=number,
        type=str(kind),
        elements=len(one),
        differing=len(where),
        first=int(where[0]),
        first_expected=str(one[where[0]]),
        first_got=str(other[where[0]]),
        last=int(where[-1]),
        pattern=pattern(where, len(one), capsule.geometry.local),
        worst_ulps=worst,
        ulps=histogram,
        newly_nonfinite=nonfinite,
    )


def _ordered(values: Any) -> Any:
    """Floats as integers in the same order: neighbours differ by 1."""
    bits = values.view(np.dtype(f"<i{values.dtype.itemsize}")).astype(np.int64)
    top = np.int64(1) << (8 * values.dtype.itemsize - 1) if values.dtype.itemsize < 8 else None
    if top is None:
        return np.where(bits < 0, np.int64(-(2**63)) - bits, bits)
    return np.where(bits < 0, -(bits + top), bits)


def _ulps(one: Any, other: Any) -> tuple[int | None, tuple[tuple[str, int], ...], int]:
    finite = np.isfinite(one) & np.isfinite(other)
    nonfinite = int(np.count_nonzero(np.isfinite(one) & ~np.isfinite(other)))
    if not finite.any():
        return None, (), nonfinite
    left, right = _ordered(one[finite]).astype(np.float64), _ordered(other[finite]).astype(np.float64)
    distance = np.abs(left - right)
    named, low = [], 0.0
    for edge in (*ULP_EDGES, np.inf):
        count = int(np.count_nonzero((distance > low) & (distance <= edge)))
        if count:
            named.append((f"up to {edge:,} ULP" if edge != np.inf else f"more than {ULP_EDGES[-1]:,} ULP", count))
        low = edge
    return int(distance.max()), tuple(named), nonfinite


def pattern(where: Any, elements: int, local: tuple[int, ...]) -> str:
    """What the places of differing elements have in common; "" for nothing that is sure."""
    count = len(where)
    if count == elements:
        return "all elements"
    if count < 2:
        return ""
    if int(where[-1]) - int(where[0]) == count - 1:
        return f"one run of {count:,} elements"
    steps = np.unique(np.diff(where))
    if len(steps) == 1 and count > 2:
        return f"every {int(steps[0]):,}th element"
    for lanes in LANES:
        if len(np.unique(where % lanes)) == 1 and count > 3:
            return f"only elements i with i % {lanes} = {int(where[0]) % lanes}"
    group = local[0] if local else 0
    if group > 1 and len(np.unique(where // group)) == 1:
        return f"only elements {int(where[0]) // group * group:,} to {int(where[0]) // group * group + group - 1:,}: one group of {group}"
    return ""


def within(found: list[Difference], tolerance: int) -> bool:
    """Do all differ by no more than so many ULPs?"""
    return all(one.worst_ulps is not None and one.worst_ulps <= tolerance and not one.newly_nonfinite for one in found)


def sentence(capsule: Capsule, one: Difference) -> str:
    """One buffer's difference, for people."""
    said = f"{capsule.title_of(one.buffer)}: {one.differing:,} of {one.elements:,} elements differ"
    said += f", the first at {one.first:,}: {one.first_expected} captured, {one.first_got} now"
    if one.pattern:
        said += f"; {one.pattern}"
    if one.ulps:
        said += f"; {', '.join(f'{count:,} by {name}' for name, count in one.ulps)}"
    if one.newly_nonfinite:
        said += f"; {one.newly_nonfinite:,} became NaN or infinite"
    return said
