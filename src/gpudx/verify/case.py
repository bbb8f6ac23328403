"""The case of a verification: its result, with the diagnosis of the failure that the change was made for."""

from __future__ import annotations

import contextlib
from pathlib import Path

from gpudx import __version__, casefile
from gpudx.errors import UserError
from gpudx.lab.trials import split
from gpudx.model import Case, Outcome
from gpudx.model.verification import Verification


def write_case(state: Verification, place: Path, status: int) -> None:
    """Written to `place`. `status` is what gpudx exits with: 0 where the change is a fix."""
    first = _first_failure(state, place)
    casefile.write(
        Case(
            command=split(state.question.commands["before"])[1],
            directory=str(place),
            created=casefile.now(),
            version=__version__,
            outcome=_outcome(state, status),
            instruments=first.instruments if first else (),
            diagnosis=first.diagnosis if first else (),
            verification=state,
        ),
        place,
    )


def _first_failure(state: Verification, place: Path) -> Case | None:
    for trial in state.trials:
        if trial.condition == "before" and (trial.failed or trial.faults):
            with contextlib.suppress(UserError):
                return casefile.read(place / trial.folder)
    return None


def _outcome(state: Verification, status: int) -> Outcome:
    seconds = sum(trial.duration_s for trial in state.trials)
    said = state.judgement.summary if state.judgement else f"It was stopped after {len(state.trials)} runs."
    return Outcome("exit" if status else "passed", said, status, duration_s=seconds)
