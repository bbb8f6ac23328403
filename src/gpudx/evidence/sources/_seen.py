"""What a rule sees."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Seen:
    """One place. `facts` tell places of one function apart without line numbers, so that a baseline outlives edits."""

    line: int
    message: str  # one sentence
    function: str = ""
    notes: tuple[str, ...] = ()
    causes: tuple[str, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()
