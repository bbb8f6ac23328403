"""What the symbol of a kernel in C++ says of its parameters: CUDA and HIP.

Sizes of C++ types are those of the Itanium C++ ABI on 64-bit Linux; of vector types those of the CUDA C++ Programming
Guide ("Built-in Vector Types"). A structure's size is not in its name: it is None here, never a guess.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from gpudx.backends.mangling import demangle, function_name, parameters

SCALARS = {
    "bool": 1, "char": 1, "signed char": 1, "unsigned char": 1, "short": 2, "unsigned short": 2, "int": 4,
    "unsigned int": 4, "long": 8, "unsigned long": 8, "long long": 8, "unsigned long long": 8, "float": 4, "double": 8,
    "__half": 2, "half": 2, "__nv_bfloat16": 2, "c10::Half": 2, "c10::BFloat16": 2, "__half2": 4, "__nv_bfloat162": 4,
    "__nv_fp8_e4m3": 1, "__nv_fp8_e5m2": 1, "hip_bfloat16": 2, "__hip_bfloat16": 2, "_Float16": 2,
}  # fmt: skip
INTEGERS = {
    "int": "int", "unsigned int": "uint", "long": "long", "long long": "long", "unsigned long": "ulong",
    "unsigned long long": "ulong", "short": "short", "unsigned short": "ushort", "bool": "bool", "char": "char",
    "signed char": "char", "unsigned char": "uchar",
}  # fmt: skip
FLOATS = {
    "float": "float", "double": "float", "__half": "half", "half": "half", "__nv_bfloat16": "half", "c10::Half": "half",
    "c10::BFloat16": "half", "hip_bfloat16": "half", "__hip_bfloat16": "half", "_Float16": "half",
}  # fmt: skip
VECTOR = re.compile(r"(u?(?:char|short|int|long|longlong)|float|double)([1-4])")
VECTOR_BASES = {"char": 1, "short": 2, "int": 4, "long": 8, "longlong": 8, "float": 4, "double": 8}
QUALIFIERS = re.compile(r"\b(const|volatile)\b")


@dataclass(frozen=True)
class Parameter:
    """One parameter as the symbol has it. `element` is the size of what a pointer points to, None if not known."""

    type: str
    pointer: bool = False
    const: bool = False  # what it points to may not be written through it
    element: int | None = None
    scalar: str | None = None


@dataclass(frozen=True)
class Signature:
    """A kernel's name for people, the whole declaration, and its parameters (None when the symbol does not say)."""

    name: str
    text: str
    parameters: tuple[Parameter, ...] | None


def signature(symbol: str) -> Signature:
    """What a symbol says. A name with C linkage says nothing but itself."""
    types = parameters(symbol)
    known = None if types is None else tuple(map(_parameter, types))
    return Signature(function_name(symbol), demangle(symbol), known)


def _parameter(text: str) -> Parameter:
    if text.endswith(("*", "&")):
        pointee = text.rstrip("*&")
        direct = len(text) - len(pointee) == 1
        return Parameter(text, True, direct and pointee.endswith(" const"), _size(pointee) if direct else 8)
    return Parameter(text, scalar=INTEGERS.get(_bare(text)) or FLOATS.get(_bare(text)))


def _bare(text: str) -> str:
    return " ".join(QUALIFIERS.sub(" ", text).split())


def _size(text: str) -> int | None:
    name = _bare(text)
    vector = VECTOR.fullmatch(name)
    if vector:
        count = int(vector[2])
        base = VECTOR_BASES[vector[1] if vector[1] in VECTOR_BASES else vector[1][1:]]
        return base * count
    return SCALARS.get(name)
