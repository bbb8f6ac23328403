"""A program that hangs: how often it did, and what a run that ended well did and the others left out."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from gpudx.detectors import event_never_completed
from gpudx.facts import Facts
from gpudx.investigate.laboratory import kept_facts
from gpudx.investigate.observed import HUNG, PLAIN, observed
from gpudx.model import Case, Diagnosis, Evidence, Investigation
from gpudx.text import plural, several

TWICE = 2


def with_counts(case: Case, state: Investigation, folder: Path) -> Case:
    """The case of an investigation of a hang, with what all of its plain runs show."""
    plain, hung = observed(state.trials)[PLAIN], [trial for trial in state.trials if trial.ending == HUNG]
    if not case.diagnosis or not hung or plain.rate.runs < TWICE or (state.failure and state.failure.ending != HUNG):
        return case
    runs = plural(plain.rate.runs, "plain run")
    under = several(list(dict.fromkeys(trial.experiment for trial in hung)))
    count = Evidence(f"{plain.rate.failures} of {runs} hung" if state.failure else f"none of {runs} hung, but a run of {under} did")
    first, *rest = case.diagnosis
    ended = next((trial for trial in plain.trials if trial.outcome == "passed"), None)
    if ended and first.cause == event_never_completed.ID:
        first = _with_completion(first, kept_facts(folder / ended.folder))
    return replace(case, diagnosis=(replace(first, evidence=(count, *first.evidence)), *rest))


def _with_completion(entry: Diagnosis, processes: Sequence[Facts]) -> Diagnosis:
    source = entry.guilty.source if entry.guilty else None
    found = [site for facts in processes for site in event_never_completed.completed_at(facts, source or "")]
    if not found or not found[0].source:
        return entry
    done = f"{found[0].call} at {os.path.basename(found[0].source)}"
    seen = Evidence(f"in a plain run that ended, {done} completed the event")
    step = f"Find out why {done} is not reached in the runs that hang."
    return replace(entry, evidence=(seen, *entry.evidence), fix=(step, *entry.fix[-1:]))
