"""Pointers inside memory that lies elsewhere on replay: words that are addresses of captured blocks are moved with them."""

from __future__ import annotations

import numpy as np

from gpudx.capsule.model import Bytes

WORD = 8


def moved(content: Bytes, blocks: list[tuple[int, int, int]]) -> Bytes:
    """The content with each aligned word that points into (old, size, new) moved by new - old."""
    changes = [(old, size, new) for old, size, new in blocks if old and old != new]
    if not changes or len(content) < WORD:
        return content
    out = content.copy()
    words = out[: len(out) // WORD * WORD].view(np.uint64)
    was = words.copy()
    for old, size, new in changes:
        inside = (was >= np.uint64(old)) & (was < np.uint64(old + size))
        words[inside] = was[inside] - np.uint64(old) + np.uint64(new)
    return out
