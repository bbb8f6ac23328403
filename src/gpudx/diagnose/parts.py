"""Where programs name the parts of their run, such as tests: the part in which a fault was made, as evidence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from gpudx.facts import Facts
from gpudx.model import Evidence, Finding, Site


class Parts:
    """The parts of all processes of a run."""

    def __init__(self, facts: Iterable[Facts]) -> None:
        self._by_pid = {one.trace.pid: one.marks for one in facts if len(one.marks)}

    def of(self, site: Site | None) -> str:
        """The part in which a call was made, "" where there is none."""
        marks = self._by_pid.get(site.pid) if site else None
        return marks.at(site.number - 1) if site and marks else ""

    def noted(self, findings: Sequence[Finding]) -> tuple[Finding, ...]:
        """The findings with their parts."""
        return tuple(map(self._noted, findings)) if self._by_pid else tuple(findings)

    def _noted(self, finding: Finding) -> Finding:
        name = self.of(finding.site)
        if not name or finding.site is None:
            return finding
        seen = Evidence(f"this call was made in {name}", (finding.site.number,))
        return replace(finding, evidence=(*finding.evidence, seen), details={**finding.details, "part": name})
