"""The calls that the first diagnosis speaks of, and the process they belong to.

A diagnosis names calls by number. Those of an experiment's run are numbers of another trace, so only a diagnosis that
rests on a finding of this very case is believed to mean this trace. A launch of another run is the one of the same number, if
that is of the same kernel.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpudx.facts import Facts
from gpudx.model import Case, Diagnosis, Finding, Site

MOST_EVIDENCE = 20


@dataclass(frozen=True)
class Accused:
    """Numbers of calls, which count from 1; None or empty where there are none."""

    pid: int | None = None
    guilty: int | None = None
    victim: int | None = None
    evidence: tuple[int, ...] = ()
    value: int | None = None  # that the guilty call was given
    allocation: str | None = None  # "buffer #7"
    missing: int | None = None  # bytes that it is too small by
    fault: int | None = None  # an address


NOBODY = Accused()


def accused_in(case: Case) -> Accused:
    """Whom the best diagnosis accuses."""
    best = case.diagnosis[0] if case.diagnosis else None
    told = _told(case, best) if best else None
    if best is None or told is None:
        return NOBODY
    finding, site = told
    guilty, victim = best.guilty, best.victim.site if best.victim else None
    calls = dict.fromkeys(number for one in finding.evidence for number in one.calls)
    known = [one for one in (guilty.allocation if guilty else None, finding.allocation) if one]
    return Accused(
        pid=site.pid,
        guilty=guilty.number if guilty else None,
        victim=victim.number if victim and victim.pid == site.pid else None,
        evidence=tuple(calls)[:MOST_EVIDENCE],
        value=_number(guilty.value) if guilty else None,
        allocation=known[0].id if known else None,
        missing=next((one.missing for one in known if one.missing), None),
        fault=(finding.access.address if finding.access else None) or _number(case.outcome.fault_address),
    )


def same_launch(case: Case, facts: Facts) -> Accused:
    """The launch that the best diagnosis found in another run of the program, in the trace of this one; NOBODY where this one has
    another kernel there."""
    guilty = case.diagnosis[0].guilty if case.diagnosis else None
    row = (guilty.launch or 0) - 1 if guilty else -1
    if guilty is None or not 0 <= row < len(facts.launches) or facts.launches.name(row) != guilty.kernel:
        return NOBODY
    passed = {one["index"]: facts.objects.label(one["object"]) for one in facts.launches.values(row) if one["object"] >= 0}
    memory = guilty.allocation.id if guilty.allocation else None
    same = memory if memory is not None and passed.get(guilty.argument) == memory else None
    return Accused(facts.trace.pid, int(facts.launches.position[row]) + 1, allocation=same)


def _told(case: Case, best: Diagnosis) -> tuple[Finding, Site] | None:
    """The finding that the diagnosis rests on, and its site that is the guilty call."""
    number = best.guilty.number if best.guilty else None
    mine = (one for one in case.findings if one.fingerprint in best.findings)
    sites = ((one, site) for one in mine for site in (one.site, *one.others) if site)
    return next(((one, site) for one, site in sites if number in (None, site.number)), None)


def _number(text: object) -> int | None:
    """ "0x48000" as a number."""
    if not isinstance(text, str) or not text.startswith("0x"):
        return None
    try:
        return int(text, 16) & (1 << 64) - 1
    except ValueError:
        return None
