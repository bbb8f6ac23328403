"""Where a failure surfaced. The call that crashed, failed or hung is the victim until something ties it to a cause."""

from __future__ import annotations

from collections.abc import Iterable

from gpudx.model import Finding, Victim

# Findings that say where it surfaced, not why. The first of these that is present counts.
REPORTED = "device-error-reported"  # the call that reports is innocent: the fault is of work before it
SURFACE = ("crash-in-call", REPORTED, "crash-outside-calls", "hang", "failed-call")


def surface_of(findings: Iterable[Finding]) -> Finding | None:
    """The finding that says where the failure surfaced, None for a run that passed or ended silently."""
    by_id = {f.id: f for f in findings if f.id in SURFACE}
    return next((by_id[name] for name in SURFACE if name in by_id), None)


def same_call(one: Finding, other: Finding | None) -> bool:
    """Do both speak of the very same call?"""
    if one.site is None or other is None or other.site is None:
        return False
    return (one.site.pid, one.site.number) == (other.site.pid, other.site.number)


def victim_of(finding: Finding, surface: Finding | None) -> Victim | None:
    """Where the fault of `finding` surfaced; None when the run showed no failure."""
    if surface is None:
        return None
    if same_call(finding, surface):
        return Victim("It surfaced in the guilty call itself.", surface.site)
    return Victim(surface.message, surface.site)
