"""Sizes of OpenCL C types, from their declared names and, for structures, from the program's source.

OpenCL C specification: 6.1.1 and 6.1.2 (scalars and vectors; a 3-component vector takes the room of 4), 6.1.5
(alignment: each type to its own size), 6.11.1 (packed). What cannot be worked out is None, never a guess: structures
with an alignment of their own, and those defined in several ways (behind #if).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

SCALARS = {
    "bool": 1,
    "char": 1,
    "uchar": 1,
    "short": 2,
    "ushort": 2,
    "half": 2,
    "int": 4,
    "uint": 4,
    "float": 4,
    "long": 8,
    "ulong": 8,
    "double": 8,
}
SPELLINGS = {
    "unsigned char": "uchar",
    "unsigned short": "ushort",
    "unsigned int": "uint",
    "unsigned": "uint",
    "unsigned long": "ulong",
    "signed char": "char",
    "signed int": "int",
    "signed": "int",
    "long int": "long",
    "unsigned long int": "ulong",
    "short int": "short",
}
POINTER_WIDE = {"size_t", "ptrdiff_t", "intptr_t", "uintptr_t"}
STRUCT = re.compile(
    r"(typedef\s+)?(struct|union)\s*(?P<before>__attribute__\s*\(\(.*?\)\)\s*)?(?P<tag>\w+)?\s*\{(?P<body>[^{}]*)\}\s*"
    r"(?P<after>__attribute__\s*\(\(.*?\)\)\s*)?(?P<name>\w+)?",
    re.S,
)
FIELD = re.compile(r"^(?P<type>[\w\s]+?)\s*(?P<stars>\**)\s*(?P<name>\w+)\s*(?P<dims>(\[\s*\w+\s*\])*)$")


@dataclass(frozen=True)
class Layout:
    """Bytes a type takes, its alignment, the bytes after its last field, and where its fields begin (of structures)."""

    size: int
    align: int
    tail_padding: int = 0
    packed: bool = False
    members: tuple[tuple[str, int], ...] = ()


def base_name(type_name: str) -> str:
    """The type without qualifiers, address space and "struct"."""
    words = re.sub(r"\b(const|volatile|restrict|struct|__?(global|local|constant|private))\b", " ", type_name)
    text = " ".join(words.replace("*", " ").split())
    return SPELLINGS.get(text, text)


def scalar_of(type_name: str) -> str | None:
    """The scalar a type is made of: "float4" -> "float"; None for structures."""
    match = re.fullmatch(r"([a-z]+?)(2|3|4|8|16)?", base_name(type_name))
    return match[1] if match and match[1] in SCALARS else None


def layout_of(type_name: str, source: str, address_bits: int = 64) -> Layout | None:
    """Size and alignment of a by-value type; None when the source does not say."""
    name = base_name(type_name)
    if name in POINTER_WIDE:
        return Layout(address_bits // 8, address_bits // 8)
    match = re.fullmatch(r"([a-z]+?)(2|3|4|8|16)?", name)
    if match and match[1] in SCALARS:
        width = int(match[2] or 1)
        size = SCALARS[match[1]] * (4 if width == 3 else width)
        return Layout(size, size)
    return _struct(name, source, address_bits, 0)


def _clean(source: str) -> str:
    return re.sub(r"//[^\n]*|/\*.*?\*/", " ", source, flags=re.S)


def _struct(name: str, source: str, bits: int, depth: int) -> Layout | None:
    if depth > 4:
        return None
    text = _clean(source)
    found = [m for m in STRUCT.finditer(text) if name in (m["tag"], m["name"])]
    if found:
        layouts = {_of_definition(match, text, bits, depth) for match in found}
        return layouts.pop() if len(layouts) == 1 else None
    aliases = {base_name(m) for m in re.findall(rf"typedef\s+([\w\s]+?)\s+{re.escape(name)}\s*;", text)}
    if len(aliases) != 1 or name in aliases:
        return None
    return _aliased(aliases.pop(), source, bits, depth + 1)


def _aliased(name: str, source: str, bits: int, depth: int) -> Layout | None:
    built_in = scalar_of(name) or name in POINTER_WIDE
    return layout_of(name, source, bits) if built_in else _struct(name, source, bits, depth)


def _of_definition(match: re.Match[str], text: str, bits: int, depth: int) -> Layout | None:
    attributes = (match["before"] or "") + (match["after"] or "")
    if "aligned" in attributes + match["body"] or re.search(r"#\s*pragma\s+pack", text):
        return None
    return _layout(match["body"], match[2] == "union", "packed" in attributes, text, bits, depth)


def _layout(body: str, union: bool, packed: bool, source: str, bits: int, depth: int) -> Layout | None:
    at, align, largest = 0, 1, 0
    members = []
    for declaration in filter(None, (d.strip() for d in body.split(";"))):
        for name, size, own_align in _fields(declaration, source, bits, depth):
            if size < 0:
                return None
            own_align = 1 if packed else own_align
            align = max(align, own_align)
            at = 0 if union else -(-at // own_align) * own_align
            members.append((name, at))
            at += size
            largest = max(largest, at)
    used = largest if union else at
    whole = -(-used // align) * align
    return Layout(whole, align, whole - used, packed, tuple(members))


def _fields(declaration: str, source: str, bits: int, depth: int) -> list[tuple[str, int, int]]:
    """(name, size, alignment) of each declared name; size -1 when it cannot be worked out."""
    first, *rest = declaration.split(",")
    match = FIELD.match(first.strip())
    if not match:
        return [("", -1, 1)]
    names = [(match["name"], match["stars"], match["dims"])]
    for other in rest:
        more = re.fullmatch(r"\s*(\**)\s*(\w+)\s*((\[\s*\w+\s*\])*)\s*", other)
        if not more:
            return [("", -1, 1)]
        names.append((more[2], more[1], more[3]))
    return [(name, *_field(match["type"], stars, dims, source, bits, depth)) for name, stars, dims in names]


def _field(type_name: str, stars: str, dims: str, source: str, bits: int, depth: int) -> tuple[int, int]:
    pointer = Layout(bits // 8, bits // 8)
    layout = pointer if stars else _aliased(base_name(type_name), source, bits, depth + 1)
    if layout is None:
        return (-1, 1)
    count = 1
    for dim in re.findall(r"\[\s*(\w+)\s*\]", dims):
        value = _number(dim, source)
        if value is None:
            return (-1, 1)
        count *= value
    return (layout.size * count, layout.align)


def _number(text: str, source: str) -> int | None:
    """A literal, or a #define of one."""
    if text.isdigit():
        return int(text)
    define = re.search(rf"#\s*define\s+{re.escape(text)}\s+\(?(\d+)\)?\s*$", source, re.M)
    return int(define[1]) if define else None
