"""How a kernel reads or writes a vector at an address that is not a multiple of its size: with the functions that need less alignment."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpudx.diagnose.kernel_check_reports import Failure
from gpudx.text import plural

CAST = re.compile(
    r"\*\s*\(\s*(?:(?:__)?(?:global|local|constant|private|const|volatile)\s+)*(?P<type>[a-z]\w*)"
    r"(?:\s+const)?\s*\*(?:\s*(?:const|restrict))?\s*\)\s*(?P<pointer>.+)",
    re.S,
)
VECTOR = re.compile(r"(u?(?:char|short|int|long)|half|float|double)(2|3|4|8|16)")
SCALAR = re.compile(r"u?(?:char|short|int|long)|half|float|double")
LENGTHS = (2, 4, 8, 16)


def steps(f: Failure) -> Iterator[str]:
    """The cause's own advice is about offsets that the host passes; here the kernel computes the address."""
    cast = CAST.fullmatch(f.site.text)
    if f.kind != "alignment" or cast is None:
        return
    pointer, kind = _bare(cast["pointer"]), cast["type"]
    vector, element = VECTOR.fullmatch(kind), f.thing.element if f.thing is not None else 0
    if vector is not None:
        length = int(vector[2])
        each = f.more // (4 if length == 3 else length)
        if each and f.offset % each == 0:
            yield f"{_use(f, length, pointer)} with a pointer to {vector[1]}: it needs the alignment of one {vector[1]} only."
    elif (
        SCALAR.fullmatch(kind)
        and element
        and f.offset % element == 0
        and f.width // element in LENGTHS
        and not f.writes
    ):
        count = f.width // element
        yield (
            f"Use `as_{kind}(vload{count}(0, {pointer}))` with a pointer to the buffer's elements of {plural(element, 'byte')}: it needs"
            " the alignment of one of them only."
        )
    elif f.more:
        yield f"Let each {kind} begin at a multiple of {f.more} bytes: pad the data that is in front of it."


def _use(f: Failure, length: int, pointer: str) -> str:
    return f"Use `vstore{length}(value, 0, {pointer})`" if f.writes else f"Use `vload{length}(0, {pointer})`"


def _bare(pointer: str) -> str:
    """Without parentheses around all of it."""
    inner = pointer[1:-1]
    whole = (
        pointer.startswith("(")
        and pointer.endswith(")")
        and all(inner[:at].count("(") >= inner[:at].count(")") for at in range(len(inner) + 1))
    )
    return inner.strip() if whole else pointer
