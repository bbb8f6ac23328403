"""What the record of a run says of the tests in it: kernels that were used, objects that threads share, causes that it shows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from gpudx import pipeline
from gpudx.facts import Facts
from gpudx.lab.recorded import RunResult
from gpudx.model import Case
from gpudx.model.flake import Accused, Look
from gpudx.text import plural

MOST_SHARED = 6


def look_at(run: RunResult, command: list[str], folder: Path) -> Look | None:
    """None when the recorder was not there: then nothing is known, which is not nothing seen."""
    analysis = pipeline.diagnose_run(run, command, folder)
    case, facts = analysis.case, analysis.facts
    if any(one.name == "recorder" and one.failed for one in case.instruments):
        return None
    return Look(
        kernels=tuple(sorted({name for one in facts for name in _kernels(one)})),
        shared=tuple(_shared(facts))[:MOST_SHARED],
        accused=tuple(_accused(case)),
        threads=max((len(np.unique(one.trace.column("tid"))) for one in facts), default=0),
        calls=sum(process.calls for process in case.processes),
    )


def _kernels(facts: Facts) -> set[str]:
    rows = np.unique(np.concatenate([facts.launches.kernel_row, facts.set_args.kernel_row]))
    return {facts.kernels.name(int(row)) for row in rows if row >= 0} - {"?"}


def _shared(facts: Sequence[Facts]) -> Iterator[str]:
    for one in facts:
        for item in one.shared:
            yield f"{item.label} by {plural(len(item.threads), 'thread')}"


def _accused(case: Case) -> Iterator[Accused]:
    """Confirmed and likely causes of a run that failed, and errors that were found in one that passed by luck."""
    for entry in case.diagnosis:
        kernel = entry.guilty.kernel if entry.guilty else None
        yield Accused(entry.cause, entry.status, entry.summary, kernel)
