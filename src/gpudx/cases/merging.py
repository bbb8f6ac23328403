"""Cases of one job that were recorded on several hosts, as one: ranks are compared across all of them.

Hosts have clocks of their own. Times of different cases are compared by the clocks' time of day, so the order of failures that are
closer than the clocks agree is not certain.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from gpudx import __version__, casefile
from gpudx.diagnose import diagnose, ranks
from gpudx.diagnose.findings import across, merge
from gpudx.diagnose.processes import first_to_fail
from gpudx.errors import UserError
from gpudx.facts import Facts, derive
from gpudx.model import Case, Diagnosis, Evidence, Outcome, ProcessInfo
from gpudx.trace import open_traces

TRACES = "traces"
UNEXPLAINED = "unexplained"
COMPARED = (ranks.MISMATCH, ranks.MISSING)  # of one host's ranks only: all of them are compared again
BEST = ("confirmed", "likely", "inconclusive", "refuted")


@dataclass(frozen=True)
class Part:
    """One of the cases, and when its first recorded call was, in seconds of the day's clock."""

    case: Case
    facts: tuple[Facts, ...]
    began: float

    def processes(self, start: float, number: int) -> tuple[ProcessInfo, ...]:
        """With times from `start` on, and traces where they are in the merged case."""
        late = self.began - start
        return tuple(
            replace(
                one,
                trace=os.path.join(TRACES, f"{number}-{os.path.basename(one.trace)}"),
                ended_at=None if one.ended_at is None else one.ended_at + late,
            )
            for one in self.case.processes
        )

    def failed_at(self, start: float) -> float:
        ends = [one.ended_at for one in self.case.processes if one.failed and one.ended_at is not None]
        return self.began - start + min(ends, default=float("inf"))


def merge_cases(folders: Sequence[Path], target: Path) -> Case:
    """One case in `target`. UserError where the cases are not of one kind."""
    parts = [_part(folder) for folder in folders]
    start = min(part.began for part in parts)
    processes = tuple(one for number, part in enumerate(parts, 1) for one in part.processes(start, number))
    facts = [one for part in parts for one in part.facts]
    first = min(parts, key=lambda part: (not part.case.outcome.failed, part.failed_at(start)))
    outcome = first.case.outcome
    compared = tuple(ranks.find(facts, processes, outcome))
    _copy_traces(folders, target)
    case = Case(
        command=first.case.command,
        directory=str(target),
        created=casefile.now(),
        version=__version__,
        outcome=outcome,
        instruments=tuple(dict.fromkeys(one for part in parts for one in part.case.instruments)),
        processes=processes,
        findings=across(merge([*(one for part in parts for one in part.case.findings if one.id not in COMPARED), *compared])),
        diagnosis=_diagnosis(parts, start, outcome, processes, diagnose(compared, outcome, processes)),
        observations=first.case.observations,
        not_checked=tuple(dict.fromkeys(text for part in parts for text in part.case.not_checked)),
        environment=first.case.environment,
        identity=first.case.identity,
        surroundings=first.case.surroundings,
    )
    casefile.write(case, target)
    return case


def _part(folder: Path) -> Part:
    case = casefile.read(folder)
    traces, _ = open_traces(folder / TRACES)
    if not traces:
        raise UserError(f"{folder} has no traces to compare: record each host's part with gpudx run, and give those cases.")
    began = min(int(trace.header["start_real_ns"]) for trace in traces) / 1e9
    return Part(case, tuple(derive(trace) for trace in traces), began)


def _copy_traces(folders: Sequence[Path], target: Path) -> None:
    place = target / TRACES
    place.mkdir(parents=True, exist_ok=True)
    for number, folder in enumerate(folders, 1):
        for trace in sorted((folder / TRACES).glob("*.gdx")):
            shutil.copyfile(trace, place / f"{number}-{trace.name}")


def _diagnosis(
    parts: Sequence[Part], start: float, outcome: Outcome, processes: Sequence[ProcessInfo], compared: Sequence[Diagnosis]
) -> tuple[Diagnosis, ...]:
    """Best first; of equals, that of the case in which a process failed first. What nothing explains is said once."""
    ordered = sorted(parts, key=lambda part: part.failed_at(start))
    every = [*(_from(part.case, entry) for part in ordered for entry in part.case.diagnosis if entry.cause not in COMPARED), *compared]
    named = sorted((one for one in every if one.cause != UNEXPLAINED), key=lambda one: BEST.index(one.status))
    if named:
        best = replace(named[0], evidence=(*named[0].evidence, *first_to_fail(processes)))
        return (best, *named[1:])
    left = [one for one in every if one.cause == UNEXPLAINED][:1] if outcome.failed else []
    return tuple(replace(one, evidence=(*first_to_fail(processes), *one.evidence[-1:])) for one in left)


def _from(case: Case, entry: Diagnosis) -> Diagnosis:
    return replace(entry, evidence=(*entry.evidence, Evidence(f"from the case {os.path.basename(case.directory)}")))
