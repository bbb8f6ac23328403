"""What the record of processes says while they may still run: for test runners, which ask after each failing test.

Nothing is written. What is said is what `gpudx run` would say if the program ended now.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

from gpudx.diagnose import diagnose
from gpudx.diagnose.findings import find
from gpudx.diagnose.parts import Parts
from gpudx.facts import derive
from gpudx.lab import project_file
from gpudx.model import Diagnosis, Finding, Outcome
from gpudx.model.suppression import unsuppressed
from gpudx.report.safe import clean
from gpudx.report.verdict import VERDICTS
from gpudx.trace import open_traces


@dataclass(frozen=True)
class Told:
    """A fault, the parts in which it may have been made, and the one in which it surfaced."""

    verdict: str
    sentence: str
    made_in: tuple[str, ...]
    surfaced_in: str
    certain: bool  # it was made in that part; else it may have been
    fault: str  # the same for the same fault, however often one looks


def look(folder: Path, failed: bool, pid: int | None = None) -> tuple[list[Told], list[str]]:
    """What is wrong in the traces of a folder, or in those of one process, and what gpudx.toml suppresses of it. An unreadable trace
    says nothing."""
    traces, _ = open_traces(folder, "*.gdx" if pid is None else f"{pid}-*.gdx")
    facts = [derive(trace) for trace in traces]
    outcome = Outcome("exit", "A test failed.", 1) if failed else Outcome("passed", "All tests passed.", 0)
    findings, notes = unsuppressed(find(facts, outcome), project_file.suppressions(), date.today())
    parts = Parts(facts)
    errors = [finding for finding in findings if finding.severity == "error"]
    told = [_told(entry, errors, parts) for entry in diagnose(findings, outcome) if entry.status != "refuted"]
    return [one for one in told if one.fault], notes


def _told(entry: Diagnosis, errors: Iterable[Finding], parts: Parts) -> Told:
    """A diagnosis that no error stands behind is of no fault: tests fail for reasons of their own."""
    mine = [finding for finding in errors if finding.fingerprint in entry.findings]
    known = [finding for finding in mine if finding.scope != "symptom"]
    names = [parts.of(finding.site) for finding in known] or [one for f in mine for one in _suspected(entry, f, parts)]
    names = list(dict.fromkeys(clean(name) for name in names if name))
    surfaced = clean(parts.of(entry.victim.site)) if entry.victim else ""
    verdict = f"{VERDICTS[entry.status]} {entry.cause}"
    fault = " ".join(finding.fingerprint for finding in mine)
    return Told(verdict, clean(entry.summary), tuple(names), surfaced, bool(known), fault)


def _suspected(entry: Diagnosis, finding: Finding, parts: Parts) -> list[str]:
    """Where only the report of a fault is known: the part of the one launch that is suspected, else of all that may be."""
    site, interval = finding.site, finding.symptom.interval if finding.symptom else None
    if site is None:
        return []
    if entry.guilty and entry.guilty.number is not None:
        return [parts.of(replace(site, number=entry.guilty.number))]
    return parts.launching(site.pid, interval.ended_before, site.number) if interval else [parts.of(site)]
