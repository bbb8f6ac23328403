"""The sha256 of many files at once, remembered from run to run.

A hash is kept by (device, inode, size, times of the last write and of the last change, in ns): a file that is written again
gets others, even if somebody sets the first one back. The memory is one file, $XDG_CACHE_HOME/gpudx/hashes.json (else
~/.cache); a damaged, old or unwritable one is as good as none.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

NAME = "hashes.json"
MOST_KEPT = 20_000
SETTLED_NS = 2_000_000_000  # a file that changed just now may change again within the tick of its clock

Key = str


def folder() -> Path:
    """Where gpudx remembers things between runs (XDG Base Directory Specification)."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if os.path.isabs(base) else Path.home() / ".cache") / "gpudx"


def sha256_of(files: Mapping[str, os.stat_result]) -> dict[str, str]:
    """The hashes of files by path; "" for one that cannot be read. Large files are begun first."""
    known = _remembered()
    keys = {path: key(state) for path, state in files.items()}
    missing = sorted((p for p in files if keys[p] not in known), key=lambda p: -files[p].st_size)
    with ThreadPoolExecutor(max_workers=min(os.cpu_count() or 2, 16)) as pool:
        fresh = dict(zip(missing, pool.map(_digest, missing), strict=True))
    found = {path: known.get(keys[path]) or fresh.get(path, "") for path in files}
    _remember(known, {keys[p]: found[p] for p in missing if found[p] and settled(files[p])})
    return found


def key(state: os.stat_result) -> Key:
    """The same for as long as a file is the same."""
    return f"{state.st_dev:x}-{state.st_ino:x}-{state.st_size:x}-{state.st_mtime_ns:x}-{state.st_ctime_ns:x}"


def settled(state: os.stat_result) -> bool:
    """Does a change from now on give it another key?"""
    return time.time_ns() - state.st_ctime_ns > SETTLED_NS


def _digest(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""


def _remembered() -> dict[Key, str]:
    with contextlib.suppress(OSError, ValueError, RuntimeError):
        data = json.loads((folder() / NAME).read_text(encoding="ascii"))
        if isinstance(data, dict):
            return {k: v for k, v in data.items() if isinstance(v, str) and len(v) == 64}
    return {}


def _remember(known: Mapping[Key, str], fresh: Mapping[Key, str]) -> None:
    """The newest entries stay. Two runs that end together: the later one wins, which loses time, not truth."""
    if not fresh:
        return
    kept = list({**known, **fresh}.items())[-MOST_KEPT:]
    with contextlib.suppress(OSError, RuntimeError):
        folder().mkdir(parents=True, exist_ok=True)
        draft = folder() / f".{NAME}.{os.getpid()}"
        draft.write_text(json.dumps(dict(kept)), encoding="ascii")
        os.replace(draft, folder() / NAME)
