"""Lines of files that may be large, broken or one endless line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from gpudx.errors import UserError
from gpudx.evidence._head import Source

CHUNK = 1 << 20
LONGEST = 1 << 16  # bytes of a line that are kept
COLOUR = re.compile(rb"\x1b\[[0-9;?]*[A-Za-z]")


def lines_of(source: Source) -> Iterator[bytes]:
    """The lines of a file (Path) or of a text, without their ends. Raises UserError when the file cannot be read."""
    carry = b""
    for chunk in chunks(source):
        lines = (carry + chunk).split(b"\n")
        carry = lines.pop()
        if len(carry) > LONGEST:
            lines.append(carry[:LONGEST])
            carry = b""
        yield from lines
    if carry:
        yield carry


def chunks(source: Source) -> Iterator[bytes]:
    """The bytes of a text or a file, piece by piece; UserError when the file cannot be read."""
    if not isinstance(source, Path):
        yield source if isinstance(source, bytes) else source.encode("utf-8", "replace")
        return
    try:
        with source.open("rb") as file:
            while chunk := file.read(CHUNK):
                yield chunk
    except OSError as error:
        raise UserError(f"{source} cannot be read ({error.strerror}): check its name and permissions.") from None


def plain(line: bytes) -> str:
    """A line as text, without colours."""
    line = line[:LONGEST]
    if b"\x1b" in line:
        line = COLOUR.sub(b"", line)
    return line.decode("utf-8", "replace").rstrip("\r")
