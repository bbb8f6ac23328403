"""Where programs name the parts of their run, such as tests: the part in which a fault was made, as evidence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from gpudx.facts import Facts
from gpudx.model import Evidence, Finding, Site


class Parts:
    """The parts of all processes of a run."""

    def __init__(self, facts: Iterable[Facts]) -> None:
        self._by_pid = {one.trace.pid: one for one in facts if len(one.marks)}

    def of(self, site: Site | None) -> str:
        """The part in which a call was made, "" where there is none."""
        facts = self._by_pid.get(site.pid) if site else None
        return facts.marks.at(site.number - 1) if site and facts else ""

    def launching(self, pid: int, after: int, before: int) -> list[str]:
        """The parts in which something was launched between two calls, given by their numbers."""
        facts = self._by_pid.get(pid)
        if facts is None:
            return []
        inside = facts.launches.position
        inside = inside[(inside >= after) & (inside < before - 1)]
        return list(filter(None, dict.fromkeys(facts.marks.at(int(position)) for position in inside)))

    def noted(self, findings: Sequence[Finding]) -> tuple[Finding, ...]:
        """The findings with their parts."""
        return tuple(map(self._noted, findings)) if self._by_pid else tuple(findings)

    def _noted(self, finding: Finding) -> Finding:
        name = self.of(finding.site)
        if not name or finding.site is None:
            return finding
        seen = Evidence(f"this call was made in {name}", (finding.site.number,))
        return replace(finding, evidence=(*finding.evidence, seen), part=name)
