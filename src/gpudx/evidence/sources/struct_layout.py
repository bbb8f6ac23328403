"""Host and device declare a struct of one name with different layouts: arguments arrive shifted.

    struct params { int rows; float scale[3]; };      // host.c
    struct params { int rows; float3 scale; };        // kernel.cl: wrong, float3 has 16 bytes and begins at a multiple of 16

Only where both are among the files, in OpenCL C and in C or C++, and all types of both are known. Sizes: specification of OpenCL C,
"Built-in Data Types" and "Alignment of Types"; of the host those of 64-bit Linux.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gpudx.evidence.sources._functions import Source, Struct
from gpudx.evidence.sources._seen import Seen

RULE = "struct-layout"
SCALARS = {"char": 1, "uchar": 1, "bool": 1, "short": 2, "ushort": 2, "half": 2, "int": 4, "uint": 4, "float": 4, "long": 8, "ulong": 8,
           "double": 8, "size_t": 8, "int8_t": 1, "uint8_t": 1, "int16_t": 2, "uint16_t": 2, "int32_t": 4, "uint32_t": 4, "int64_t": 8,
           "uint64_t": 8}  # fmt: skip
QUALIFIERS = ("const", "volatile", "unsigned", "signed", "struct", "__global", "__constant")
_VECTOR = re.compile(r"(?:cl_)?([a-z]+?)(2|3|4|8|16)")


@dataclass(frozen=True)
class Member:
    """Where a member lies."""

    name: str
    type: str
    offset: int
    size: int


def check(source: Source, project: Sequence[Source]) -> Iterator[Seen]:
    if source.language != "opencl":
        return
    hosts = [(other, struct) for other in project if other.language != "opencl" for struct in other.structs]
    for struct in source.structs:
        for other, twin in hosts:
            if twin.name == struct.name:
                yield from _compared(source, struct, other, twin)


def _compared(source: Source, struct: Struct, other: Source, twin: Struct) -> Iterator[Seen]:
    device, host = layout(source, struct), layout(other, twin)
    if device is None or host is None or (device == host):
        return
    pairs = list(zip(device[0], host[0], strict=False))
    odd = next(((d, h) for d, h in pairs if (d.offset, d.size) != (h.offset, h.size)), None)
    if odd is None and device[1] == host[1]:
        return  # only names differ
    yield Seen(
        struct.line,
        f"struct {struct.name} has {device[1]} bytes at {source.at(struct.line)} and {host[1]} at {other.at(twin.line)}{_where(odd)}.",
        "",
        ("declare both with the same sizes; cl_float3 and float3 take 16 bytes",),
        ("argument-size",),
        (("struct", struct.name),),
    )


def _where(odd: tuple[Member, Member] | None) -> str:
    if odd is None:
        return ""
    device, host = odd
    return f": {device.name} ({device.type}) is at {device.offset} with {device.size} bytes there, at {host.offset} with {host.size} here"


def layout(source: Source, struct: Struct) -> tuple[tuple[Member, ...], int] | None:
    """Members and size; None where a type is not known, or where attributes change the layout."""
    members: list[Member] = []
    at, widest = 0, 1
    for words in struct.members:
        told = _member(source, words)
        if told is None:
            return None
        name, kind, size, align, count = told
        at = -(-at // align) * align
        members.append(Member(name, kind, at, size * count))
        at, widest = at + size * count, max(widest, align)
    return tuple(members), -(-at // widest) * widest


def _member(source: Source, words: tuple[str, ...]) -> tuple[str, str, int, int, int] | None:
    """Name, type, size of one, alignment, how many."""
    if any(word in ("*", "(", ":", ",", "=") or word.startswith("__attribute") for word in words):
        return None
    plain = [word for word in words if word not in QUALIFIERS]
    kind = plain[0] if len(plain) > 1 and plain[1] != "[" else "int" if "unsigned" in words else ""
    known = _type(kind)
    if known is None or not plain:
        return None
    rest = plain[1:] if plain[0] == kind else plain
    if not rest or (len(rest) > 1 and rest[1] != "["):
        return None
    count = _count(source, rest[1:])
    return None if count is None else (rest[0], kind, *known, count)


def _type(name: str) -> tuple[int, int] | None:
    """Size and alignment."""
    bare = name.removeprefix("cl_")
    if bare in SCALARS:
        return SCALARS[bare], SCALARS[bare]
    found = _VECTOR.fullmatch(name)
    if found is None or found[1] not in SCALARS:
        return None
    size = SCALARS[found[1]] * (4 if found[2] == "3" else int(found[2]))
    return size, size


def _count(source: Source, words: list[str]) -> int | None:
    total = 1
    for text in re.findall(r"\[([^\]]*)\]", " ".join(words)):
        value = source.number(text.strip())
        if value is None:
            return None
        total *= value
    return total
