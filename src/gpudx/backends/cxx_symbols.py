"""What the symbol of a C++ kernel says of its parameters, for all APIs whose kernels are C++ functions.

Sizes of C++ types are those of the Itanium C++ ABI on 64-bit Linux; an API adds its own types. A structure's size is not in its
name: it is None here, never a guess.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from gpudx.backends.mangling import demangle, function_name, parameters

SCALARS = {
    "bool": 1, "char": 1, "signed char": 1, "unsigned char": 1, "short": 2, "unsigned short": 2, "int": 4,
    "unsigned int": 4, "long": 8, "unsigned long": 8, "long long": 8, "unsigned long long": 8, "float": 4, "double": 8,
    "_Float16": 2, "__half": 2, "half": 2, "__half2": 4, "c10::Half": 2, "c10::BFloat16": 2,
}  # fmt: skip
INTEGERS = {
    "int": "int", "unsigned int": "uint", "long": "long", "long long": "long", "unsigned long": "ulong",
    "unsigned long long": "ulong", "short": "short", "unsigned short": "ushort", "bool": "bool", "char": "char",
    "signed char": "char", "unsigned char": "uchar",
}  # fmt: skip
FLOATS = {
    "float": "float", "double": "float", "_Float16": "half", "__half": "half", "half": "half", "c10::Half": "half",
    "c10::BFloat16": "half",
}  # fmt: skip
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


def _no_vector(name: str) -> int | None:
    return None


@dataclass(frozen=True)
class Types:
    """The types of one API beside those of C++: sizes, which of them are floating, and how large a vector type is."""

    sizes: Mapping[str, int] = field(default_factory=dict)
    floats: Mapping[str, str] = field(default_factory=dict)
    vector: Callable[[str], int | None] = _no_vector

    def signature(self, symbol: str) -> Signature:
        """What a symbol says. A name with C linkage says nothing but itself."""
        types = parameters(symbol)
        known = None if types is None else tuple(map(self._parameter, types))
        return Signature(function_name(symbol), demangle(symbol), known)

    def _parameter(self, text: str) -> Parameter:
        if text.endswith(("*", "&")):
            pointee = text.rstrip("*&")
            direct = len(text) - len(pointee) == 1
            return Parameter(text, True, direct and pointee.endswith(" const"), self._size(pointee) if direct else 8)
        name = _bare(text)
        return Parameter(text, scalar=INTEGERS.get(name) or FLOATS.get(name) or self.floats.get(name))

    def _size(self, text: str) -> int | None:
        name = _bare(text)
        return self.vector(name) or SCALARS.get(name) or self.sizes.get(name)


def _bare(text: str) -> str:
    return " ".join(QUALIFIERS.sub(" ", text).split())
