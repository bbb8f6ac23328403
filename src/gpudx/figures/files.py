"""The files of a case that a reader may want to open."""

from __future__ import annotations

from pathlib import Path

from gpudx.model import Case

MOST = 60


def of(case: Case) -> tuple[str, ...]:
    """Names relative to the case, of those that are there and lie in it."""
    raw = [one.raw for entry in case.diagnosis for one in (*entry.evidence, *entry.not_counted)]
    raw += [one.raw for finding in case.findings for one in finding.evidence]
    trials = [trial.folder for trial in case.investigation.trials] if case.investigation else []
    names = dict.fromkeys(["case.json", *(p.trace for p in case.processes), *raw, *trials])
    root = Path(case.directory).resolve()
    return tuple(name for name in names if name and _inside(root, name))[:MOST]


def _inside(root: Path, name: str) -> bool:
    try:
        place = (root / name).resolve()
        return place.is_relative_to(root) and place.exists()
    except (OSError, ValueError):
        return False
