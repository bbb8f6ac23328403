"""Where failures surfaced, by process. The call that crashed, failed or hung is the victim until something ties it to a cause."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gpudx.model import Finding, ProcessInfo, Victim

# Of several symptoms of one process, the first of these counts. The call that reports a device error is innocent: the fault is of
# work before it.
KINDS = ("crash in call", "device error", "crash", "hang", "failed call")


def pid_of(finding: Finding) -> int:
    """The process that a finding is about, 0 for one that is about the whole run."""
    return finding.pid or (finding.site.pid if finding.site else 0)


class Symptoms:
    """The symptom of each process that failed, the process that failed first before the others."""

    def __init__(self, findings: Iterable[Finding], processes: Iterable[ProcessInfo] = ()) -> None:
        ended = {one.pid: one.ended_at for one in processes if one.ended_at is not None}
        found: dict[int, Finding] = {}
        for finding in findings:
            pid = pid_of(finding)
            if finding.symptom and (pid not in found or _rank(finding) < _rank(found[pid])):
                found[pid] = finding
        order = sorted(found, key=lambda pid: (ended.get(pid, float("inf")), _rank(found[pid])))
        self.by_pid: Mapping[int, Finding] = {pid: found[pid] for pid in order}

    @property
    def first(self) -> Finding | None:
        """Of the process that failed first; None for a run that passed or ended silently."""
        return next(iter(self.by_pid.values()), None)

    def of(self, finding: Finding) -> Finding | None:
        """The symptom that a finding is held against: that of its own process, else the first."""
        return self.by_pid.get(pid_of(finding)) or self.by_pid.get(0) or self.first

    def place(self, pid: int) -> int:
        """How early a process failed, for sorting."""
        return list(self.by_pid).index(pid) if pid in self.by_pid else len(self.by_pid)


def _rank(finding: Finding) -> tuple[int, bool]:
    """The call that hung says more than that a process was busy elsewhere."""
    return (KINDS.index(finding.symptom.kind) if finding.symptom else len(KINDS), finding.site is None)


def same_call(one: Finding, other: Finding | None) -> bool:
    """Are both about the same call?"""
    if one.site is None or other is None or other.site is None:
        return False
    return (one.site.pid, one.site.number) == (other.site.pid, other.site.number)


def victim_of(finding: Finding, symptom: Finding | None) -> Victim | None:
    """Where the fault of `finding` surfaced; None when the run showed no failure."""
    if symptom is None:
        return None
    if same_call(finding, symptom):
        return Victim("The guilty call itself failed.", symptom.site)
    return Victim(symptom.message, symptom.site)
