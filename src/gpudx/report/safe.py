"""Text that came from the program, made harmless to look at.

Kernel names, paths and messages may hold escape sequences, line breaks, direction marks or a megabyte of letters.
They must not move the cursor, forge a line of a report, or hide the rest of it.
"""

from __future__ import annotations

import re
import unicodedata

LONGEST_NAME = 200
LONGEST_TEXT = 4000
HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}  # Unicode categories that show nothing or change what follows

_LONG_NAME = re.compile(rf"\S{{{LONGEST_NAME + 1},}}")


def clean(text: str) -> str:
    """One line without anything invisible: hidden characters as \\xNN, names over 200 characters shortened."""
    return full(shorten(_LONG_NAME.sub(lambda match: shorten(match[0], LONGEST_NAME), text), LONGEST_TEXT))


def full(text: str) -> str:
    """As `clean`, but nothing is left out."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(map(_visible, text))


def shorten(text: str, room: int) -> str:
    """The beginning and the end, with the whole length stated, when `text` is longer than `room`."""
    if len(text) <= room:
        return text
    mark = f"...({len(text):,}_characters)..."
    tail = room // 4
    return text[: room - tail - len(mark)] + mark + text[-tail:]


def _visible(char: str) -> str:
    if unicodedata.category(char) not in HIDDEN:
        return char
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
