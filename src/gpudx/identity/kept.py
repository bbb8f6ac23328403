"""What was read out of objects, remembered from run to run: one small file for each in $XDG_CACHE_HOME/gpudx/contents.

A vendor's libraries are hundreds of megabytes and the same at every run. A name is made of the file's state (hashes.key), so a file that
is written again is read again. A damaged or unwritable memory is as good as none.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import os
from pathlib import Path
from typing import Any

from gpudx import __version__
from gpudx.identity import hashes

MOST_FILES = 4_000
MOST_BYTES = 1 << 20  # of one entry: debug information of a large program names thousands of sources


def load(words: tuple[str, ...]) -> Any:
    """What was kept under these words, None for nothing."""
    with contextlib.suppress(OSError, ValueError, RuntimeError):
        return json.loads(_place(words).read_bytes())
    return None


def keep(words: tuple[str, ...], value: Any) -> None:
    """Keeps a dataclass, or None as False, which is what `load` gives back for it."""
    text = json.dumps(dataclasses.asdict(value) if value is not None else False).encode()
    if len(text) > MOST_BYTES:
        return
    with contextlib.suppress(OSError, RuntimeError):
        place = _place(words)
        place.parent.mkdir(parents=True, exist_ok=True)
        _make_room(place.parent)
        draft = place.with_name(f".{place.name}.{os.getpid()}")
        draft.write_bytes(text)
        os.replace(draft, place)


def _place(words: tuple[str, ...]) -> Path:
    name = hashlib.sha256("\0".join((__version__, *words)).encode("utf-8", "surrogateescape")).hexdigest()[:32]
    return hashes.folder() / "contents" / f"{name}.json"


def _make_room(folder: Path) -> None:
    """The half that was used longest ago goes when there are too many."""
    with os.scandir(folder) as entries:
        files = [(entry.stat().st_atime, entry.path) for entry in entries]
    for _, path in sorted(files)[: len(files) // 2] if len(files) > MOST_FILES else []:
        with contextlib.suppress(OSError):
            os.unlink(path)
