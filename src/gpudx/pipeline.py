"""The walk: bytes become a report, in one direction. Read this first.

run (lab) -> traces -> facts -> findings (detectors, evidence) -> diagnosis -> case -> report (elsewhere)
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from gpudx import __version__, casefile, errors, native
from gpudx.detectors import Run, examine_all
from gpudx.diagnose import instruments, left_undone, ranks, watched_runs
from gpudx.diagnose.explained import explained
from gpudx.diagnose.findings import across, of_dumps
from gpudx.diagnose.recorded_processes import processes_of
from gpudx.diagnose.refined import in_own_words, recorded_faults, with_history
from gpudx.diagnose.verdicts import verdicts
from gpudx.evidence.models import ModelFile
from gpudx.facts import Facts, derive
from gpudx.identity import identify
from gpudx.lab import loaded, opened, program
from gpudx.lab.environment import DUMPS, surroundings
from gpudx.lab.outcome import outcome as outcome_of
from gpudx.lab.recorded import RunResult
from gpudx.model import Case, Finding, Instrument, Observation
from gpudx.model.suppression import Suppression, unsuppressed
from gpudx.trace import Trace, open_traces

if TYPE_CHECKING:  # slow to import, and most runs have none
    from gpudx.contracts.checking import Checked
    from gpudx.contracts.contracts import Contract
    from gpudx.contracts.hypotheses import Claim


@dataclass(frozen=True)
class Stated:
    """What users state about their program, read before it is run."""

    contracts: tuple[Contract, ...] = ()
    hypotheses: tuple[Claim, ...] = ()
    models: tuple[ModelFile, ...] = ()  # none: those that the program opened
    suppressions: tuple[Suppression, ...] = ()


@dataclass(frozen=True)
class Analysis:
    """A case, and the facts that it was made from: nothing derives them a second time."""

    case: Case
    facts: tuple[Facts, ...]


NOTHING_STATED = Stated()
ENDING_ONLY = "this run is one of many with a small change: only how it ended was looked at"


def diagnose_run(run: RunResult, command: Sequence[str], case_dir: Path, stated: Stated = NOTHING_STATED) -> Analysis:
    """The case of one recorded run, written to `case_dir`; what the user stated is checked against it."""
    begun, facts = _begun(run, command, case_dir)
    outcome, presence = begun.outcome, _presence(run, facts)
    processes, identity = processes_of(run, facts, case_dir), identify(run, facts)
    checked = instruments.look(run, facts, command, case_dir)
    contracts = _contracts(stated, facts)
    dumped, unread_dumps = of_dumps(case_dir / DUMPS, facts, outcome)
    mismatches, compared, unread_models = _with_models(stated, run, facts)
    all_found = with_history(
        (
            *recorded_faults(facts, outcome, dumped),
            *explained(checked.findings, facts),
            *(finding for one in contracts for finding in one.findings),
            *examine_all(identity, Run(outcome)),
            *mismatches,
            *ranks.find(facts, processes, outcome),
        ),
        facts,
    )
    kept, suppressed = unsuppressed(all_found, stated.suppressions, date.today())
    found = in_own_words(kept, facts)
    calls, launches = sum(one.trace.count for one in facts), sum(len(one.launches) for one in facts)
    seen = loaded.instruments(presence, calls, launches)
    unseen = (*presence.blind, *left_undone.not_seen(facts), *checked.unchecked, *identity.unknown)
    case = replace(
        begun,
        instruments=(*seen, *checked.instruments, *(one.instrument for one in contracts), *compared),
        processes=processes,
        findings=across(found),
        diagnosis=verdicts(found, outcome, processes, presence, facts),
        not_checked=(*suppressed, *begun.not_checked, *unread_dumps, *unread_models, *unseen, *errors.bugs(case_dir)),
        identity=identity,
        surroundings=surroundings({**os.environ, **run.how.extra_env}),
    )
    if stated.hypotheses:
        from gpudx.contracts.judging import judge

        case = replace(case, hypotheses=judge(stated.hypotheses, case, facts))
    return Analysis(written(case), facts)


def ended_run(run: RunResult, command: Sequence[str], case_dir: Path) -> Analysis:
    """The case of a run of which only its end counts: no detector looks at it."""
    begun, facts = _begun(run, command, case_dir)
    return Analysis(written(replace(begun, not_checked=(*begun.not_checked, ENDING_ONLY))), facts)


def join(first: Case, second: Case) -> Case:
    """The case of the first of two watched runs with what the second one found out, written in its place."""
    return written(watched_runs.joined(first, second))


def written(case: Case) -> Case:
    """The case, written in its place."""
    casefile.write(case, Path(case.directory))
    return case


def _begun(run: RunResult, command: Sequence[str], case_dir: Path) -> tuple[Case, tuple[Facts, ...]]:
    """The case of a run that nobody has looked at yet, with how it ended and the traces that cannot be read; and its facts."""
    traces, unreadable = open_traces(run.trace_dir)
    outcome, ways = outcome_of(run, _fault_address(traces, run.pid)), run.how.ways
    case = Case(
        command=tuple(command),
        directory=str(case_dir),
        created=casefile.now(),
        version=__version__,
        outcome=outcome,
        observations=(Observation(ways.name, outcome.observed, int(outcome.failed), 1, outcome.summary, ways=ways),),
        not_checked=tuple(unreadable),
        environment=dict(run.how.extra_env),
    )
    return case, tuple(derive(trace) for trace in traces)


def _fault_address(traces: Iterable[Trace], pid: int) -> str | None:
    """The address of the root process's fatal fault, if its last words were kept."""
    words = [t.last_words for t in traces if t.pid == pid and t.last_words]
    return f"{words[-1].address:#x}" if words and words[-1].fault_address is not None else None


def _presence(run: RunResult, facts: Sequence[Facts]) -> loaded.Presence:
    """In which of its processes the recorder was."""
    recorded = {one.trace.pid for one in facts if one.trace.ended}
    return loaded.judge(run, lambda path: program.inspect(path, native.library()), recorded)


def _contracts(stated: Stated, facts: Sequence[Facts]) -> list[Checked]:
    if not stated.contracts:
        return []
    from gpudx.contracts.checking import check

    return [check(stated.contracts, facts)]


def _with_models(stated: Stated, run: RunResult, facts: Sequence[Facts]) -> tuple[list[Finding], list[Instrument], list[str]]:
    """What does not fit the dimensions of the program's models, that this was looked for, and the models that cannot be read."""
    known, unreadable = (stated.models, []) if stated.models else opened.read_models(run, [one.trace.maps for one in facts])
    if not known:
        return [], [], unreadable
    from gpudx.diagnose import model_numbers

    return list(model_numbers.find(known, facts)), [model_numbers.instrument(known, facts)], unreadable
