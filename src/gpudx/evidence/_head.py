"""The beginning of what a recogniser is asked about."""

from __future__ import annotations

from pathlib import Path

Source = bytes | str | Path
HEAD = 1 << 16


def head_of(source: Source, size: int = HEAD) -> bytes:
    """The first bytes of a file (Path), or of a text (str, bytes). A file that cannot be read is empty."""
    if isinstance(source, Path):
        try:
            with source.open("rb") as file:
                return file.read(size)
        except OSError:
            return b""
    return source[:size] if isinstance(source, bytes) else source[:size].encode("utf-8", "replace")
