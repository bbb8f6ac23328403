"""Two uses of one memory that nothing orders, as unordered-access tells them: for detectors that know why nothing does."""

from __future__ import annotations

from dataclasses import dataclass

from gpudx.detectors._overlaps import overlap
from gpudx.detectors._words import sites_of
from gpudx.facts import Facts
from gpudx.facts.once import once
from gpudx.model import OrderPair, Site


@dataclass(frozen=True)
class Meeting:
    """Rows of Happens.ops, the earlier call first; `certain`: both surely touch the same bytes, and one writes."""

    first: int
    second: int
    memory: int
    certain: bool

    def sites(self, facts: Facts) -> tuple[Site, Site]:
        first, second = sites_of(facts, (int(facts.happens.ops["position"][op]) for op in (self.first, self.second)))
        return first, second

    def pair(self, facts: Facts) -> OrderPair | None:
        """What shows it in another run (facts.nth)."""
        first, second = sorted(int(facts.happens.ops["position"][op]) for op in (self.first, self.second))
        return facts.nth.pair(first, second)

    def told(self, facts: Facts) -> str:
        """ "kernel scale (call 3) and cuMemcpyHtoDAsync_v2 (call 7), which share memory #1"."""
        names = [f"{f'kernel {s.kernel}' if s.kernel else s.call} (call {s.number})" for s in self.sites(facts)]
        return f"{names[0]} and {names[1]}, which share {facts.objects.label(self.memory)}"


@once
def meetings(facts: Facts) -> list[Meeting]:
    """All that are kept, certain ones first."""
    op, found = facts.uses.table["op"], []
    for conflict in facts.conflicts.found:
        for first, second in conflict.pairs:
            met = overlap(facts, first, second)
            if met is not None:
                found.append(Meeting(int(op[first]), int(op[second]), conflict.memory, met.certain))
    return sorted(found, key=lambda meeting: not meeting.certain)
