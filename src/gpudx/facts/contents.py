"""Words of what the program uploaded and read back, as the recorder kept them of the first such copies (native/opencl/contents.h)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from gpudx.facts import Facts

NANS = (0x7FC00000, 0xFFC00000)  # what devices compute; other patterns may be data of other types


def contents(facts: Facts) -> Iterator[tuple[int, NDArray[np.uint64]]]:
    """The calls, with the words of 8 bytes that were kept."""
    notes = facts.trace.named("note_contents")
    begins = facts.trace.column("begin")
    order = np.argsort(begins, kind="stable") if len(notes) else notes
    for note in notes.tolist():
        began = facts.trace.record(note)["began"]
        at = int(np.searchsorted(begins[order], np.uint64(began)))
        if at < len(order) and int(begins[order[at]]) == began:
            yield int(order[at]), np.array(facts.trace.numbers(note), np.uint64)


def nan_read_back(facts: Facts) -> int | None:
    """The first call by which the program read back a NaN, as far as words were kept."""
    for position, words in contents(facts):
        call = facts.trace.info(position)
        if call.reads and call.host and np.isin(words.view(np.uint32), NANS).any():
            return position
    return None
