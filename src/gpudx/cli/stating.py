"""A case with the facts of its traces, for commands that need both."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpudx.facts import Facts
    from gpudx.model import Case


def recorded_runs(case: Path) -> list[Path]:
    """Where the traces are: in the case itself, or in runs of an investigation, the first one first."""
    from gpudx.lab.recorded import TRACES
    from gpudx.lab.trials import RUNS

    runs = [] if (case / TRACES).is_dir() else [run for run in sorted((case / RUNS).glob("*")) if (run / TRACES).is_dir()]
    return runs or [case]


def load(place: Path, first_run: bool = False) -> tuple[Case, list[Facts]]:
    """A case and the facts of its processes; with `first_run`, of an investigation those of its first run."""
    from gpudx import casefile
    from gpudx.facts import derive
    from gpudx.trace import open_case

    case = casefile.read(place)
    folder = place if place.is_dir() else place.parent
    return case, [derive(trace) for trace in open_case(recorded_runs(folder)[0] if first_run else folder)]
