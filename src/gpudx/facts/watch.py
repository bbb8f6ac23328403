"""Memory that the recorder looked at whenever the program had waited, and what had changed in it (gpudx run --watch).

The recorder notes every change, whoever made it. Which of them nobody was allowed to make is decided by asking
facts.writers what was given to the work of that time.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gpudx.facts.objects import Objects
from gpudx.trace import Trace

HELD, MERGED, EACH = 1, 2, 4  # flags of a change, as in schema/events.toml


@dataclass(frozen=True)
class Change:
    """Bytes of an object (a row of Objects) that had changed; the first and the last have, those between may have.

    since     ticks: what was submitted by calls that ended before is not what changed them
    position  where it was noted; what began later did not either
    held      an address of it was seen in memory, from where work may have it
    each      there was a look right before and right after each launch
    """

    object: int
    first: int
    last: int
    was: int
    now: int
    since: int
    position: int
    held: bool
    each: bool


class Watch:
    """What was watched in one process."""

    def __init__(self, trace: Trace, objects: Objects) -> None:
        self._trace, self._objects = trace, objects

    def _notes(self, name: str) -> list[int]:
        return [int(p) for p in self._trace.named(name)]

    @cached_property
    def changes(self) -> list[Change]:
        """In order of time."""
        found = [self._change(p) for p in self._notes("note_changed")]
        return [one for one in found if one is not None]

    def _change(self, position: int) -> Change | None:
        words = self._trace.record(position)
        row = int(self._objects.at(np.array([words["object"]], np.uint64), np.array([position], np.int64))[0])
        if row < 0:
            return None
        flags = words["flags"]
        return Change(
            object=row,
            first=words["offset"],
            last=words["offset"] + words["bytes"] - 1,
            was=words["was"],
            now=words["is"],
            since=words["since"],
            position=position,
            held=bool(flags & HELD),
            each=bool(flags & EACH),
        )

    @cached_property
    def missed(self) -> Counter[str]:
        """How many pieces of memory were not watched, by reason."""
        return Counter(self._trace.text(p) for p in self._notes("note_not_watched"))

    @cached_property
    def counts(self) -> Counter[str]:
        """What the recorder counted: looks, busy, watched, bytes, changed, untold."""
        return sum((Counter(self._trace.record(p)) for p in self._notes("note_watch")), Counter())

    @cached_property
    def stopped(self) -> tuple[str, ...]:
        """Why there were no more looks, if they ended before the program did."""
        return tuple(filter(None, (self._trace.text(p) for p in self._notes("note_watch"))))
