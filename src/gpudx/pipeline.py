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
from gpudx.diagnose import (
    destructors,
    diagnose,
    instruments,
    left_undone,
    ranks,
    reused_buffers,
    runtime_words,
    watched_runs,
)
from gpudx.diagnose.branching_barriers import doubted
from gpudx.diagnose.call_lines import CallLines
from gpudx.diagnose.entries import unexplained
from gpudx.diagnose.explained import explained
from gpudx.diagnose.findings import across, find, merge, of_dumps
from gpudx.diagnose.null_origins import traced_back
from gpudx.diagnose.parts import Parts
from gpudx.diagnose.printed_faults import one_fault, with_reasons
from gpudx.diagnose.processes import first_to_fail
from gpudx.diagnose.recorded_processes import processes_of
from gpudx.evidence.models import ModelFile
from gpudx.facts import Facts, derive
from gpudx.identity import identify
from gpudx.lab import loaded, opened, program
from gpudx.lab.environment import DUMPS, surroundings
from gpudx.lab.outcome import outcome as outcome_of
from gpudx.lab.recorded import RunResult
from gpudx.model import Case, Diagnosis, Finding, Instrument, Observation, Outcome, ProcessInfo
from gpudx.model.suppression import Suppression, unsuppressed
from gpudx.text import capital
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
    traces, unreadable = open_traces(run.trace_dir)
    facts = tuple(derive(trace) for trace in traces)
    outcome = outcome_of(run, _fault_address(traces, run.pid))
    presence = loaded.judge(
        run, lambda path: program.inspect(path, native.library()), {t.pid for t in traces if t.ended}
    )
    processes = processes_of(run, facts, case_dir)
    identity = identify(run, facts)
    checked = instruments.look(run, facts, command, case_dir)
    contracts = _contracts(stated, facts)
    dumped, unread_dumps = of_dumps(case_dir / DUMPS, facts, outcome)
    known, unread_models = (stated.models, []) if stated.models else opened.read_models(run, [trace.maps for trace in traces])
    mismatches, compared = _with_models(known, facts)
    merged = merge(
        [
            *one_fault(tuple(with_reasons(doubted(find(facts, outcome), facts), facts)), tuple(explained(dumped, facts))),
            *explained(checked.findings, facts),
            *(finding for one in contracts for finding in one.findings),
            *examine_all(identity, Run(outcome)),
            *mismatches,
            *ranks.find(facts, processes, outcome),
        ]
    )
    told = destructors.told(reused_buffers.told(traced_back(merged, facts), facts))
    kept, suppressed = unsuppressed(Parts(facts).noted(told), stated.suppressions, date.today())
    say = runtime_words.words(facts)
    lines = CallLines(facts)
    found = tuple(runtime_words.of_finding(lines.of(finding), say) for finding in kept)
    calls, launches = sum(one.count for one in traces), sum(len(f.launches) for f in facts)
    case = Case(
        command=tuple(command),
        directory=str(case_dir),
        created=casefile.now(),
        version=__version__,
        outcome=outcome,
        instruments=(
            *loaded.instruments(presence, calls, launches),
            *checked.instruments,
            *(one.instrument for one in contracts),
            *compared,
        ),
        processes=processes,
        findings=across(found),
        diagnosis=tuple(runtime_words.of_entry(one, say) for one in _diagnosis(found, outcome, processes, presence, facts)),
        observations=(_observation(run, outcome),),
        not_checked=(
            *suppressed,
            *unreadable,
            *unread_dumps,
            *unread_models,
            *presence.blind,
            *left_undone.not_seen(facts),
            *checked.unchecked,
            *identity.unknown,
            *errors.bugs(case_dir),
        ),
        environment=dict(run.how.extra_env),
        identity=identity,
        surroundings=surroundings({**os.environ, **run.how.extra_env}),
    )
    if stated.hypotheses:
        from gpudx.contracts.judging import judge

        case = replace(case, hypotheses=judge(stated.hypotheses, case, facts))
    casefile.write(case, case_dir)
    return Analysis(case, facts)


def ended_run(run: RunResult, command: Sequence[str], case_dir: Path) -> Analysis:
    """The case of a run of which only its end counts: no detector looks at it."""
    traces, unreadable = open_traces(run.trace_dir)
    outcome = outcome_of(run, _fault_address(traces, run.pid))
    case = Case(
        command=tuple(command),
        directory=str(case_dir),
        created=casefile.now(),
        version=__version__,
        outcome=outcome,
        observations=(_observation(run, outcome),),
        not_checked=(*unreadable, ENDING_ONLY),
        environment=dict(run.how.extra_env),
    )
    casefile.write(case, case_dir)
    return Analysis(case, tuple(derive(trace) for trace in traces))


def join(first: Case, second: Case) -> Case:
    """The case of the first of two watched runs with what the second one found out, written in its place."""
    return written(watched_runs.joined(first, second))


def written(case: Case) -> Case:
    """The case, written in its place."""
    casefile.write(case, Path(case.directory))
    return case


def _contracts(stated: Stated, facts: Sequence[Facts]) -> list[Checked]:
    if not stated.contracts:
        return []
    from gpudx.contracts.checking import check

    return [check(stated.contracts, facts)]


def _with_models(known: Sequence[ModelFile], facts: Sequence[Facts]) -> tuple[list[Finding], list[Instrument]]:
    """What does not fit the dimensions of the program's models, and that this was looked for."""
    if not known:
        return [], []
    from gpudx.diagnose import model_numbers

    return list(model_numbers.find(known, facts)), [model_numbers.instrument(known, facts)]


def _diagnosis(
    found: Sequence[Finding],
    outcome: Outcome,
    processes: Sequence[ProcessInfo],
    presence: loaded.Presence,
    facts: Sequence[Facts],
) -> tuple[Diagnosis, ...]:
    named = diagnose(found, outcome, processes)
    if named or not outcome.failed:
        return named
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


def _fault_address(traces: Iterable[Trace], pid: int) -> str | None:
    """The address of the root process's fatal fault, if its last words were kept."""
    words = [t.last_words for t in traces if t.pid == pid and t.last_words]
    return f"{words[-1].address:#x}" if words and words[-1].fault_address is not None else None


def _observation(run: RunResult, outcome: Outcome) -> Observation:
    ways = run.how.ways
    return Observation(ways.name, outcome.observed, int(outcome.failed), 1, outcome.summary, ways=ways)
