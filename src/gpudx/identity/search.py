"""Is a text, a symbol or a source line in the code that was loaded?

A compiler may keep a short text not as one piece but as numbers in instructions, and inlines functions until no symbol is left.
So "not found" is one thing, and "surely not there" another: `Answer.doubt` says in half a sentence what stands in the way.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from gpudx import backends
from gpudx.elf.dwarf import Dwarf
from gpudx.elf.image import DEBUG_ROOT, Image
from gpudx.identity.contents import section
from gpudx.identity.embedded import loaded_ranges

PIECE = 8  # bytes of a text that one instruction can hold
STEP = 64 << 20  # bytes that are searched at a time
MOST_SOURCES, MOST_BYTES = 50_000, 4 << 20


@dataclass(frozen=True)
class Answer:
    """Where something was found; if nowhere, what would have to be known to say that it is not there."""

    places: tuple[str, ...] = ()
    doubt: str = ""


def text(paths: Sequence[str], wanted: str) -> Answer:
    """A text in the bytes that are loaded of these objects."""
    data = os.fsencode(wanted)
    places: list[str] = []
    doubts: list[str] = []
    for path in paths:
        image = Image.open(path)
        if image is None:
            continue
        if _holds(image, data):
            places.append(path)
        else:
            doubts += _doubts(image, wanted)
    return Answer(tuple(places), "" if places or not doubts else doubts[0])


def _holds(image: Image, wanted: bytes, code_only: bool = False) -> bool:
    return any(wanted in piece for piece in _pieces(image, len(wanted), code_only))


def _pieces(image: Image, overlap: int, code_only: bool) -> Iterator[bytes]:
    for begin, size, code in loaded_ranges(image):
        if code or not code_only:
            for at in range(begin, begin + size, STEP):
                yield image.read(at, min(STEP + overlap, begin + size - at))


def _doubts(image: Image, wanted: str) -> Iterator[str]:
    data, name = os.fsencode(wanted), os.path.basename(image.path)
    head = data[: PIECE if len(data) > PIECE else PIECE // 2]
    if len(head) < len(data) and _holds(image, head, code_only=True):
        yield f"the code of {name} holds the beginning of the text, as a compiler writes short texts into instructions"
    stem = _stem(wanted)
    if stem and _holds(image, os.fsencode(stem)):
        yield f"{name} has {stem!r}, from which it may be composed when it is written"
    if backends.hides_texts(lambda part: section(image, part)):
        yield f"device code in {name} is compressed and was not searched"


def _stem(wanted: str) -> str:
    """The text up to its first number, which a program may put there when it writes."""
    at = next((place for place, letter in enumerate(wanted) if letter.isdecimal()), len(wanted))
    return wanted[:at] if 4 <= at < len(wanted) else ""


def symbol(paths: Sequence[str], name: str, judged: Sequence[str]) -> Answer:
    """A function or variable by its name: as the linker has it, as a part of a C++ name, or in debug information.

    `judged` are the objects in which it is expected: that others are stripped is no doubt.
    """
    places, blind = [], []
    for path in paths:
        image = Image.open(path)
        if image is None:
            continue
        debug = image if ".debug_info" in image.sections else image.debug_image(DEBUG_ROOT)
        if any(_named(one, name) for one in {id(one): one for one in (image, debug) if one}.values()):
            places.append(path)
        elif (
            path in judged
            and not image.has_symtab
            and not (debug and (debug.has_symtab or ".debug_info" in debug.sections))
        ):
            blind.append(os.path.basename(path))
    return Answer(tuple(places), f"{blind[0]} is stripped of its symbols" if blind and not places else "")


def _named(image: Image, name: str) -> bool:
    """As a whole name in a table of names, or behind its length, as C++ and Rust write the parts of theirs."""
    whole, part = b"\0" + os.fsencode(name) + b"\0", f"{len(name)}{name}".encode("utf-8", "surrogateescape")
    tables = [image.section(table) for table in (".strtab", ".dynstr")]
    if any(whole in table or part in table for table in tables):
        return True
    return any(whole in b"\0" + image.section(table) for table in (".debug_str", ".debug_line_str"))


def line(paths: Sequence[str], file: str, number: int, others: bool) -> Answer:
    """A source line for which there is code; `others`: more was loaded than these objects, and was not searched."""
    places, blind, known = [], [], False
    for path in paths:
        image = Image.open(path)
        debug = image and (image if ".debug_info" in image.sections else image.debug_image(DEBUG_ROOT))
        if image is not None and not debug:
            blind.append(os.path.basename(path))
        lines = Dwarf(debug).lines_of(file) if debug else set()
        known |= bool(lines)
        if number in lines:
            places.append(path)
    if places or known:
        return Answer(tuple(places))
    beyond = "debug information of packages is not read" if others else ""
    return Answer((), f"{blind[0]} has no debug information" if blind else beyond)


def in_sources(folders: Sequence[str], wanted: str, suffix: str = ".py") -> Answer:
    """A text in source files below folders."""
    files = list(islice(_sources(folders, suffix), MOST_SOURCES + 1))
    places = tuple(path for path in files[:MOST_SOURCES] if _file_holds(path, os.fsencode(wanted)))
    cut = len(files) > MOST_SOURCES and not places
    return Answer(places, f"only the first {MOST_SOURCES:,} source files were searched" if cut else "")


def _sources(folders: Sequence[str], suffix: str) -> Iterator[str]:
    for folder in dict.fromkeys(folders):
        for top, below, names in os.walk(folder):
            below[:] = [name for name in below if not name.startswith(".") and name != "__pycache__"]
            yield from (os.path.join(top, name) for name in names if name.endswith(suffix))


def _file_holds(path: str, wanted: bytes) -> bool:
    try:
        with open(path, "rb") as file:
            return wanted in file.read(MOST_BYTES)
    except OSError:
        return False
