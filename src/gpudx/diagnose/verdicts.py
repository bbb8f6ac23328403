"""The diagnosis of a run, also where nothing was found: what is known then about a failure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gpudx.diagnose import runtime_words
from gpudx.diagnose.entries import unexplained
from gpudx.diagnose.judge import diagnose
from gpudx.diagnose.processes import first_to_fail
from gpudx.facts import Facts
from gpudx.lab import loaded
from gpudx.model import Diagnosis, Finding, Outcome, ProcessInfo
from gpudx.text import capital


def verdicts(
    found: Sequence[Finding],
    outcome: Outcome,
    processes: Sequence[ProcessInfo],
    presence: loaded.Presence,
    facts: Sequence[Facts],
) -> tuple[Diagnosis, ...]:
    """In the words of the program's own API. None for a run that ended well and in which nothing is wrong."""
    entries = diagnose(found, outcome, processes)
    if not entries and outcome.failed:
        entries = _inconclusive(outcome, processes, presence, facts)
    say = runtime_words.words(facts)
    return tuple(runtime_words.of_entry(one, say) for one in entries)


def _inconclusive(
    outcome: Outcome, processes: Sequence[ProcessInfo], presence: loaded.Presence, facts: Sequence[Facts]
) -> tuple[Diagnosis, ...]:
    if not presence.loaded:
        return (loaded.inconclusive(presence),)
    calls = sum(one.trace.count for one in facts)
    failed, busy = sum(len(one.errors) for one in facts), sum(len(one.in_flight) for one in facts)
    ranked = first_to_fail(processes)
    if not calls and not ranked:
        return ()
    gaps = [gap.text for one in facts for gap in one.trace.gaps]
    entry = unexplained(outcome, calls, failed, busy, gaps)
    head = f"{capital(ranked[0].text)}. " if ranked else ""
    return (replace(entry, summary=head + entry.summary, evidence=(*ranked, *entry.evidence)),)
