"""Programs that pass whatever they compute: what they print stands in for the failure that they do not report.

A run that prints something else than plain runs do, as soon as a transfer or a launch is waited for, shows that the program uses
something before it is there. Which of the two outputs is right, nobody has said; so what follows is likely, never confirmed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from gpudx.investigate.observed import PLAIN
from gpudx.model import Diagnosis, Evidence, Trial

PASSED: Final = "passed"
FAILED: Final = "reproduced"
WORDS = (
    ("The failure is gone", "The output changes"),
    ("It comes back", "The first output comes back"),
    ("no failure", "another output"),
)
FAILED_RUNS = re.compile(r"\b(runs?) failed\b")
UNSURE = "It is not known which output is right: state it with --expect, --compare or --check."


def applies(trials: Sequence[Trial]) -> bool:
    """Did every plain run pass, and print something?"""
    plain = [trial for trial in trials if trial.experiment == PLAIN]
    return bool(plain) and all(trial.outcome == PASSED and trial.output for trial in plain)


def as_failures(trials: Sequence[Trial], changes: Sequence[str]) -> list[Trial]:
    """The same trials, with the output of plain runs taken for the failure. `changes` are the experiments that are compared."""
    plain = {trial.output for trial in trials if trial.experiment == PLAIN}
    others = {name: {t.output for t in trials if t.experiment == name and t.outcome == PASSED} for name in changes}
    agreed = {next(iter(prints)) for prints in others.values() if len(prints) == 1 and not prints & plain}
    return [_seen(trial, agreed, changes) for trial in trials]


def _seen(trial: Trial, agreed: set[str], changes: Sequence[str]) -> Trial:
    if trial.outcome != PASSED:
        return trial
    if trial.experiment == PLAIN or trial.experiment in changes:
        return replace(trial, outcome=PASSED if trial.output in agreed else FAILED)
    return trial


def in_words(entry: Diagnosis) -> Diagnosis:
    """An entry about failures, told of outputs."""
    return replace(
        entry,
        status="likely",
        reason=f"{_said(entry.reason)} {UNSURE}",
        evidence=tuple(Evidence(_said(one.text), one.calls, one.raw) for one in entry.evidence),
    )


def _said(text: str) -> str:
    for failing, printing in WORDS:
        text = text.replace(failing, printing)
    return FAILED_RUNS.sub(r"\1 printed something else", text)
