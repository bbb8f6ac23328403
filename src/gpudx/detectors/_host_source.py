"""The text of the program's own source files, where they lie at the place that its debug information names."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

MOST_BYTES = 4_000_000


@lru_cache(maxsize=16)
def lines_of(path: str) -> tuple[str, ...]:
    """Nothing of what is no plain file, or too large for a source."""
    file = Path(path)
    try:
        if not file.is_file() or file.stat().st_size > MOST_BYTES:
            return ()
        return tuple(file.read_text("utf-8", "replace").split("\n"))
    except OSError:
        return ()
