"""Long columns, some rows at a time: what is made on the way to a result stays small."""

from __future__ import annotations

from collections.abc import Iterator

AT_ONCE = 1 << 16


def slices(count: int) -> Iterator[slice]:
    """All rows of a table, one part after the other."""
    for begin in range(0, count, AT_ONCE):
        yield slice(begin, min(begin + AT_ONCE, count))
