"""What an object says of itself in its own bytes: revision, date, compilers. Only what can be read surely.

compilers   .comment, where compilers leave their names (gcc's -fident)
revision    of Go: the build information in .go.buildinfo (debug/buildinfo); of others: a whole text that `git describe` would write, or
            one of 40 hexadecimal digits that is a commit of the repository around it
dated       a whole text as __DATE__ writes it (C11, 6.10.8.1), if there is exactly one
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from gpudx.elf.image import Image
from gpudx.text import printable

PT_LOAD, PF_X = 1, 1
MOST_BYTES = 64 << 20
MOST_CANDIDATES = 4  # texts of 40 digits that git is asked about
GO_MAGIC, GO_INLINE = b"\xff Go buildinf:", 2
# Vendors' libraries have 100 MB of constants. An expression that begins with literal bytes is searched for at the speed of memory,
# one that begins with a class is tried at every byte: so each has its rarest literal first, and the rest is checked around it.
DESCRIBED_END = re.compile(rb"-g[0-9a-f]{7,40}(?:-dirty)?\0")
DESCRIBED = re.compile(rb"(?:[\w./+]+-)+\d+-g[0-9a-f]{7,40}(?:-dirty)?")
COMMIT = re.compile(rb"(?<=\0)([0-9a-f]{40})(?:-dirty)?(?=\0)")
YEAR = re.compile(rb" 20\d\d\0")
DATE = re.compile(rb"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) [ 123]\d 20\d\d")
MOST_DESCRIBED = 200  # bytes of such a text
GO_REVISION = re.compile(rb"build\tvcs\.revision=([0-9a-f]+)")

Knows = Callable[[str], bool]


def compilers(image: Image) -> tuple[str, ...]:
    """The compilers that had a part in it."""
    texts = image.section(".comment").split(b"\0")
    return tuple(dict.fromkeys(printable(text.decode("utf-8", "replace")) for text in texts if text))


def revision(image: Image, is_commit: Knows | None) -> str:
    """The revision that was built in, "" where none can be read surely; `is_commit` is None where there is no repository."""
    go = _of_go(image.section(".go.buildinfo"))
    if go:
        return go
    for data in constants(image):
        described = next(_described(data), "")
        if described:
            return described
        if is_commit is None:
            continue
        found = dict.fromkeys(match[1].decode() for match in COMMIT.finditer(data))
        sure = next((text for text in list(found)[:MOST_CANDIDATES] if is_commit(text)), "")
        if sure:
            return sure
    return ""


def dated(image: Image) -> str:
    """The date that was built in; "" for none, or for several."""
    found = {text for data in constants(image) for text in _dates(data)}
    return found.pop() if len(found) == 1 else ""


def _described(data: bytes) -> Iterator[str]:
    for match in DESCRIBED_END.finditer(data):
        begin = data.rfind(b"\0", max(0, match.start() - MOST_DESCRIBED), match.start()) + 1
        text = data[begin : match.end() - 1]
        if begin and DESCRIBED.fullmatch(text):
            yield text.decode()


def _dates(data: bytes) -> Iterator[str]:
    for match in YEAR.finditer(data):
        text = data[max(0, match.start() - 7) : match.end() - 1]
        if text[:1] == b"\0" and DATE.fullmatch(text[1:]):
            yield text[1:].decode()


def constants(image: Image) -> Iterator[bytes]:
    """The bytes of an object that are loaded and not code."""
    for begin, size, code in loaded_ranges(image):
        if not code:
            yield image.read(begin, min(size, MOST_BYTES))


def loaded_ranges(image: Image) -> list[tuple[int, int, bool]]:
    """(offset, bytes, is it code?) of what is loaded of a file."""
    rows = image.segments[image.segments["type"] == PT_LOAD]
    return [(int(row["offset"]), int(row["filesz"]), bool(int(row["flags"]) & PF_X)) for row in rows]


def _of_go(data: bytes) -> str:
    """The revision in Go's build information, as versions since 1.18 keep it: two texts, each behind its length."""
    if not data.startswith(GO_MAGIC) or len(data) < 33 or not data[15] & GO_INLINE:
        return ""
    found = GO_REVISION.search(data)
    return found[1].decode() if found else ""
