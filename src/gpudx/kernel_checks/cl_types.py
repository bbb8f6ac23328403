"""Types of OpenCL C, as libclang gives them."""

from __future__ import annotations

import re
from typing import Any

INTS = ("INT", "UINT", "LONG", "ULONG", "SHORT", "USHORT", "UCHAR", "CHAR_S", "SCHAR", "CHAR_U", "ENUM", "BOOL")
FLOATS = ("FLOAT", "DOUBLE", "HALF")
SPACES = {"__global": "g", "__local": "l", "__constant": "c", "__private": "p", "__generic": "x"}
QUALIFIERS = re.compile(
    r"\b(?:const|volatile|restrict|__restrict|__global|__local|__constant|__private|__generic|global|local|constant|private)\b"
)


def space(pointer: Any) -> str:
    """The address space that a pointer type points into: g, l, c, p or x."""
    return qualifier(pointer.get_pointee())


def qualifier(kind: Any) -> str:
    words = kind.spelling
    tail = words.rpartition("*")[2] if "*" in words else words
    for word, short in SPACES.items():
        if word in tail:
            return short
    return "p"


def plain(kind: Any) -> str:
    """A type without qualifiers."""
    return " ".join(QUALIFIERS.sub("", kind.spelling).split())


def value(kind: Any) -> str:
    """The type of a value, with the address space that a pointer points into."""
    pointer = kind.get_canonical()
    if pointer.kind.name != "POINTER":
        return plain(kind)
    word = next(word for word, short in SPACES.items() if short == space(pointer))
    return f"{word} {plain(pointer.get_pointee())} *"


def element_bytes(kind: Any) -> int:
    """Of what an array consists of; 0: not known."""
    canonical = kind.get_canonical()
    while canonical.kind.name == "CONSTANTARRAY":
        canonical = canonical.element_type.get_canonical()
    return max(0, int(canonical.get_size()))


def is_vector_of_three(kind: Any) -> bool:
    """It takes the room of four elements, of which the last is padding."""
    canonical = kind.get_canonical()
    return canonical.kind.name in ("VECTOR", "EXTVECTOR") and int(canonical.element_count) == 3


def scalar_bytes(kind: Any) -> int:
    canonical = kind.get_canonical()
    while canonical.kind.name in ("CONSTANTARRAY", "VECTOR", "EXTVECTOR"):
        canonical = canonical.element_type.get_canonical()
    if canonical.kind.name == "RECORD":
        return min((scalar_bytes(field.type) for field in canonical.get_fields()), default=1)
    size = canonical.get_size()
    return size if canonical.kind.name in (*INTS, *FLOATS) and size > 0 else 1
