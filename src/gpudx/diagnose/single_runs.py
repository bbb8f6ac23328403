"""What one run with checks inside its kernels leaves open: whether uninitialized memory that a kernel read matters to the results.

Kernels read padding, and lanes that they then discard. What became an index outside a buffer was not discarded. `gpudx investigate` decides
it, by runs with other content in fresh memory.
"""

from __future__ import annotations

from dataclasses import replace

from gpudx.diagnose.findings import merge
from gpudx.diagnose.judge import ORDER
from gpudx.model import Case, Diagnosis, Finding

CAUSE, FINDING = "read-before-write", "kernel-check-uninitialized"
OPEN = "The kernel checked itself and reported this read; it is not known whether the results depend on the value."


def reserved(case: Case) -> Case:
    """A warning where the program passed, and at most likely where it failed."""
    if not any(map(_is_read, case.findings)):
        return case
    sure = {one.message for one in case.findings if one.id == FINDING and not _is_read(one)}
    doubted = merge(_doubted(one) if _is_read(one) else one for one in case.findings)
    seen = [one for one in case.diagnosis if not (case.outcome.passed and _is_of_read(one, sure))]
    told = (replace(one, status="likely", reason=OPEN) if _is_of_read(one, sure) else one for one in seen)
    return replace(case, findings=doubted, diagnosis=tuple(sorted(told, key=lambda one: ORDER[one.status])))


def _doubted(finding: Finding) -> Finding:
    return replace(finding, severity="warning", attribution="probable", because=OPEN)


def _is_read(finding: Finding) -> bool:
    return finding.id == FINDING and finding.causes == (CAUSE,)


def _is_of_read(entry: Diagnosis, sure: set[str]) -> bool:
    return entry.cause == CAUSE and entry.summary not in sure and entry.access is not None and entry.access.seen_by == "kernel check"
