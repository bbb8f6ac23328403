"""The walk: bytes become a report, in one direction. Read this first.

run (lab) -> traces -> facts -> findings (detectors) -> diagnosis -> case -> report (elsewhere)
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from gpudx import __version__, casefile, native
from gpudx.detectors import Run, detect_all, examine_all
from gpudx.diagnose import (
    device_faults,
    diagnose,
    fenced_runs,
    kernel_check_runs,
    model_numbers,
    poisoned_runs,
    sanitizer_runs,
    serialised_runs,
    watched_runs,
)
from gpudx.diagnose.judge import unexplained
from gpudx.diagnose.parts import Parts
from gpudx.errors import UserError
from gpudx.evidence import cuda_coredump, models
from gpudx.evidence.cuda_coredump import Dump
from gpudx.evidence.models import ModelFile
from gpudx.facts import Facts, derive
from gpudx.identity import identify
from gpudx.lab import loaded, opened, program
from gpudx.lab.environment import DUMPS, surroundings
from gpudx.lab.outcome import outcome as outcome_of
from gpudx.lab.recorded import RunResult
from gpudx.model import Case, Diagnosis, Finding, Instrument, Observation, Outcome, ProcessInfo
from gpudx.model.diagnosis import OutcomeName
from gpudx.stated.checking import check
from gpudx.stated.contracts import Contract
from gpudx.stated.hypotheses import Claim
from gpudx.stated.judging import judge
from gpudx.trace import Trace, open_trace

NOT_CHECKED = ("What kernels did inside their memory: recording sees calls, not accesses.",)
FAILED_OUTCOMES = ("exit", "signal", "timeout")


@dataclass(frozen=True)
class Stated:
    """What users state about their program, read before it is run."""

    contracts: tuple[Contract, ...] = ()
    hypotheses: tuple[Claim, ...] = ()
    models: tuple[ModelFile, ...] = ()  # none: those that the program opened


NOTHING_STATED = Stated()


def diagnose_run(run: RunResult, command: Sequence[str], case_dir: Path, stated: Stated = NOTHING_STATED) -> Case:
    """The case of one recorded run, written to `case_dir`; what the user stated is held against it."""
    traces, unreadable = open_traces(run.trace_dir)
    facts = [derive(trace) for trace in traces]
    outcome = outcome_of(run, _fault_address(traces, run.pid))
    presence = loaded.judge(run, lambda path: program.inspect(path, native.library()), _ended(traces))
    dumps, unread = _dumps(case_dir / DUMPS)
    checked, sanitized, unchecked = _checked(run, facts, command, case_dir)
    poisoned, unseen = _poisoned(run, facts)
    contracts = [check(stated.contracts, facts)] if stated.contracts else []
    known, unread_models = _models(run, traces, stated)
    kept = [finding for one in contracts for finding in one.findings]
    identity = identify(run, facts)
    found = merge(
        [
            *find(facts, outcome),
            *_device_faults(dumps, facts, outcome),
            *sanitized,
            *kept,
            *examine_all(identity, Run(outcome)),
            *model_numbers.find(known, facts),
        ]
    )
    findings = Parts(facts).noted(found)
    unreadable += [*unread, *unread_models]
    calls, launches = sum(map(len, traces)), sum(len(f.launches) for f in facts)
    case = Case(
        command=tuple(command),
        directory=str(case_dir),
        created=casefile.now(),
        version=__version__,
        outcome=outcome,
        instruments=(
            *loaded.instruments(presence, calls, launches),
            *checked,
            *poisoned,
            *(one.instrument for one in contracts),
            *([model_numbers.instrument(known, facts)] if known else []),
        ),
        processes=tuple(_process(f, case_dir) for f in facts),
        findings=findings,
        diagnosis=_diagnosis(findings, outcome, presence, calls),
        observations=(_observation(run, outcome),),
        not_checked=(
            *unreadable,
            *presence.blind,
            *unchecked,
            *unseen,
            *serialised_runs.not_checked(facts),
            *identity.unknown,
        ),
        environment=dict(run.how.extra_env),
        identity=identity,
        surroundings=surroundings({**os.environ, **run.how.extra_env}),
    )
    case = replace(case, hypotheses=judge(stated.hypotheses, case, facts))
    casefile.write(case, case_dir)
    return case


def join(first: Case, second: Case) -> Case:
    """The case of the first of two watched runs with what the second one told, written in its place."""
    case = watched_runs.joined(first, second)
    casefile.write(case, Path(case.directory))
    return case


def find(facts: Iterable[Facts], outcome: Outcome) -> tuple[Finding, ...]:
    """What the detectors find in all processes."""
    return merge(finding for one in facts for finding in detect_all(one, Run(outcome)))


def _dumps(folder: Path) -> tuple[dict[int, Dump], list[str]]:
    """The device's own records by process, and a sentence for each that cannot be read."""
    found, unreadable = {}, []
    for path in sorted(folder.glob("*.nvcudmp")):
        try:
            found[int(path.stem)] = cuda_coredump.read(path)
        except (UserError, ValueError) as error:
            unreadable.append(str(error))
    return found, unreadable


def _device_faults(dumps: dict[int, Dump], facts: Iterable[Facts], outcome: Outcome) -> Iterator[Finding]:
    """Faults that the device recorded itself, joined to the launches that made them; after a hang, what was running."""
    for one in facts:
        dump = dumps.get(one.trace.pid)
        if dump is not None:
            yield from device_faults.join(dump, one)
            if outcome.kind == "timeout" and not dump.faults:
                yield from device_faults.still_running(dump, one)


def _checked(
    run: RunResult, facts: Sequence[Facts], command: Sequence[str], case_dir: Path
) -> tuple[tuple[Instrument, ...], tuple[Finding, ...], tuple[str, ...]]:
    """Of all that was asked to check the run: the instruments, what they found, and what was not checked."""
    tools, found, unchecked = _fenced(run, facts) if run.how.fence else _sanitized(run, facts, command, case_dir)
    if run.how.kernel_checks is not None and kernel_check_runs.applies(facts, case_dir):
        tool = kernel_check_runs.instrument(run.how.kernel_checks, facts, case_dir)
        rest = () if unchecked == NOT_CHECKED else unchecked
        tools, found = (*tools, tool), (*found, *kernel_check_runs.findings(facts, case_dir))
        unchecked = (*rest, *kernel_check_runs.not_checked(run.how.kernel_checks, facts, tool.state == "live"))
    if run.how.watch is None:
        return tools, found, unchecked
    tool = watched_runs.instrument(facts)
    rest = () if unchecked == NOT_CHECKED else unchecked
    return (*tools, tool), found, (*rest, *watched_runs.not_checked(tool))


def _sanitized(
    run: RunResult, facts: Sequence[Facts], command: Sequence[str], case_dir: Path
) -> tuple[tuple[Instrument, ...], tuple[Finding, ...], tuple[str, ...]]:
    """Of a run under a sanitizer: the tool as an instrument, what it found, and what was not checked."""
    if run.sanitized is None:
        return (), (), NOT_CHECKED
    reports = sanitizer_runs.read(case_dir)
    tool = sanitizer_runs.instrument(run.sanitized, reports, len(facts))
    found = tuple(sanitizer_runs.findings(run.sanitized, reports, facts, command))
    return (tool,), found, sanitizer_runs.not_checked(run.sanitized, tool.state == "live")


def _fenced(
    run: RunResult, facts: Sequence[Facts]
) -> tuple[tuple[Instrument, ...], tuple[Finding, ...], tuple[str, ...]]:
    """The same of a fenced run; what fences found is in the record, and found there by detectors."""
    assert run.how.fence is not None
    tool = fenced_runs.instrument(run.how.fence, facts)
    return (tool,), (), fenced_runs.not_checked(run.how.fence, facts)


def _poisoned(run: RunResult, facts: Sequence[Facts]) -> tuple[tuple[Instrument, ...], tuple[str, ...]]:
    """Of a run in which fresh memory held a pattern: the pattern as an instrument, and what it cannot show."""
    if run.how.poison is None:
        return (), ()
    return (poisoned_runs.instrument(run.how.poison, facts),), poisoned_runs.NOT_CHECKED


def _models(run: RunResult, traces: Iterable[Trace], stated: Stated) -> tuple[Sequence[ModelFile], list[str]]:
    """The models that the user named, else those that the program was given or opened; a sentence for each unreadable one."""
    if stated.models:
        return stated.models, []
    found, unreadable = [], []
    for path in opened.models(run, [trace.maps for trace in traces]):
        try:
            model = models.read(path)
            found += [model] if model.fields or model.tensors else []  # some other config.json
        except UserError as error:
            unreadable.append(str(error))
    return found, unreadable


def merge(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The same fault is told once, with its count; errors first."""
    merged: dict[str, Finding] = {}
    for finding in findings:
        earlier = merged.get(finding.fingerprint)
        merged[finding.fingerprint] = replace(earlier, count=earlier.count + finding.count) if earlier else finding
    severity = {"error": 0, "warning": 1, "info": 2}
    return tuple(sorted(merged.values(), key=lambda f: severity[f.severity]))


def _diagnosis(
    findings: Sequence[Finding], outcome: Outcome, presence: loaded.Presence, calls: int
) -> tuple[Diagnosis, ...]:
    told = diagnose(findings, outcome)
    failed = outcome.kind in FAILED_OUTCOMES
    if told or not failed:
        return told
    if not presence.loaded:
        return (loaded.inconclusive(presence),)
    return (unexplained(outcome, calls),) if calls else ()


def open_traces(folder: Path, pattern: str = "*.gdx") -> tuple[list[Trace], list[str]]:
    """The readable traces, oldest process first, and a sentence for each that is not."""
    traces, unreadable = [], []
    for path in sorted(folder.glob(pattern)):
        try:
            traces.append(open_trace(path))
        except UserError as error:
            unreadable.append(str(error))
    return sorted(traces, key=lambda t: int(t.header["start_mono_ns"])), unreadable


def _fault_address(traces: Iterable[Trace], pid: int) -> str | None:
    """The address of the root process's fatal fault, if its last words were kept."""
    words = [t.last_words for t in traces if t.pid == pid and t.last_words]
    return f"{words[-1].address:#x}" if words else None


def _ended(traces: Iterable[Trace]) -> set[int]:
    return {t.pid for t in traces if t.ended}


def _process(facts: Facts, case_dir: Path) -> ProcessInfo:
    trace = facts.trace
    words = trace.last_words
    ended = (
        f"signal {words.signal}"
        if words
        else "reached its exit handlers"
        if trace.ended
        else "ended without exit handlers"
    )
    return ProcessInfo(
        pid=trace.pid,
        ppid=trace.ppid,
        command=" ".join(trace.argv) or trace.exe,
        trace=str(trace.path.relative_to(case_dir)) if trace.path.is_relative_to(case_dir) else str(trace.path),
        calls=len(trace),
        launches=len(facts.launches),
        gaps=tuple(g.text for g in trace.gaps),
        ended=ended,
    )


def _observation(run: RunResult, outcome: Outcome) -> Observation:
    failed = outcome.kind in FAILED_OUTCOMES
    ended: OutcomeName = "passed" if outcome.kind == "passed" else "not reached"
    name: OutcomeName = "timeout" if outcome.kind == "timeout" else "reproduced" if failed else ended
    ways = [
        *([run.sanitized.sanitizer.check] if run.sanitized else []),
        *(["opencl"] if run.how.kernel_checks else []),
        *(["fenced"] if run.how.fence else []),
        *(["poisoned"] if run.how.poison else []),
        *(["watched"] if run.how.watch else []),
        *(["serialised"] if run.how.serialise else []),
    ]
    return Observation(" and ".join(ways) or "recorded", name, int(failed), 1, outcome.summary)
