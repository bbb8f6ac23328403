"""Words that every part of the house writes alike."""

from __future__ import annotations


def plural(number: int, one: str, many: str | None = None) -> str:
    """ "1 byte", "1,024 bytes"."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"
