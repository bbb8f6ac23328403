"""One run of an experiment: made, diagnosed, and looked at for what it says about the program. Knows nothing of other runs."""

from __future__ import annotations

import contextlib
import math
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gpudx import pipeline
from gpudx.facts import Facts, copy_offsets, exchangeable, other_numbers, redirects, transfers
from gpudx.facts.allocated import freed_before
from gpudx.facts.kernel_sources import kernels_of_launches, launched, of_launches
from gpudx.facts.parts import can_be_apart
from gpudx.facts.read_back import read_back
from gpudx.investigate import redirected, standstill, which_memory
from gpudx.investigate.loop import OutOfTime
from gpudx.kernel_checks.opposite_order import Launched
from gpudx.kernel_checks.word_changes import Change, changes
from gpudx.lab import at_sites, complaints, criteria
from gpudx.lab.experiments import PLAIN, Context, Seen, base, every
from gpudx.lab.recorded import TRACES, RunResult, run_recorded
from gpudx.lab.trials import OUTPUT, Interrupted
from gpudx.model import Asked, Case
from gpudx.model.how import How
from gpudx.model.read_back import ReadBack
from gpudx.trace import Trace, open_traces

STILL_WORKING_S = 2.0  # a program that made a call so recently is slow, not stuck
SHORTEST_S = 0.001


@dataclass(frozen=True)
class Job:
    """All that a run depends on. The runs of equal jobs mean the same; how long they may take is no part of that."""

    experiment: str
    context: Context
    launch: int | None = None  # that the plain run showed as faulting: a tool that names the kernel only is told
    stacks: bool = False  # of each launch
    patience_s: float = field(default=math.inf, compare=False)  # after so many seconds a run hangs
    inside_s: float = field(default=math.inf, compare=False)  # the same where an instrument looks at the device's work
    still_s: float = field(default=math.inf, compare=False)  # without any progress on the device, while the host waits
    left_s: float = field(default=math.inf, compare=False)  # of the budget
    is_first: bool = field(default=False, compare=False)
    is_guess: bool = field(default=False, compare=False)  # nobody knows yet how long the program takes

    def patience(self, looks_inside: bool) -> float:
        return self.inside_s if looks_inside else self.patience_s


@dataclass(frozen=True)
class Learned:
    """What a run's record says of the program."""

    apis: frozenset[str]
    frameworks: frozenset[str]
    threads: int
    devices: frozenset[str]
    launches: int
    parts: bool
    pair: tuple[str, str] | None
    edges: tuple[str, ...]
    transfers: tuple[str, ...]
    offsets: tuple[str, ...]
    exchanges: tuple[str, ...]
    redirects: tuple[str, ...]
    redirected: tuple[str, ...]
    has_lines: bool
    numbers: tuple[str, ...]
    edits: tuple[Change, ...]
    stuck: str
    frees: bool
    on_host: bool
    sources: tuple[tuple[str, str], ...]
    suspected: frozenset[str]
    candidates: tuple[int, ...]
    back: ReadBack | None
    seen: Seen
    launched: tuple[Launched, ...] = ()


@dataclass(frozen=True)
class Made:
    """A run that was made."""

    case: Case
    learned: Learned
    idle: str | None  # why the experiment had no effect
    output: str  # digest of what it printed
    fresh: str  # the pattern that fresh memory held
    duration_s: float  # of the program
    took_s: float  # with the analysis
    quiet_s: float  # of one that hung: since its last call
    looks_inside: bool  # how long such a run takes says nothing about the program
    hung: bool
    facts: tuple[Facts, ...] = ()
    back: ReadBack | None = None  # what the program read with a change that it passed with


def make(job: Job, folder: Path) -> Made:
    """Interrupted when the user ended it, OutOfTime when the budget did, NotReached when it cannot be brought about."""
    began = time.monotonic()
    module, context = every()[base(job.experiment)], job.context
    folder.mkdir(parents=True)
    with getattr(module, "around", _around)(context):
        words = list(getattr(module, "command", _command)(context))
        marks = context.asked.probes if job.experiment == PLAIN else ()
        how: How = replace(module.how(context), output=folder / OUTPUT, probes=marks, faults_suffice=True)
        how = replace(_pinned(how, job.launch), stacks=how.stacks or job.stacks)
        patience = job.patience(_looks_inside(how))
        how = replace(how, timeout=min(patience, max(SHORTEST_S, job.left_s)))
        still_s = job.still_s * (standstill.INSIDE if _looks_inside(how) else 1)
        stuck = standstill.Standstill(folder / TRACES, still_s) if math.isfinite(still_s) else None
        run = run_recorded(words, folder, how, is_stuck=stuck)
        if run.returncode == 0:
            run = _judged(run, context.asked, folder / OUTPUT)
    if run.interrupted:
        raise Interrupted
    quiet = _quiet_for(folder) if run.timed_out else 0.0
    hung = run.timed_out and not run.ended_early
    # By the budget. What a first run did until then is worth reporting, if it made calls.
    stood_still = run.timed_out and how.timeout is not None and run.duration_s < how.timeout
    cut_off = not stood_still and how.timeout != patience and (not job.is_first or not math.isfinite(quiet))
    if hung and (cut_off or (job.is_guess and quiet < STILL_WORKING_S)):
        raise OutOfTime
    analysis = pipeline.ended_run(run, words, folder) if how.is_try and not how.fence else pipeline.diagnose_run(run, words, folder)
    for log in (folder / TRACES).glob("heap-*"):  # sparse files, which copies of a case would fill
        log.unlink()
    learned = LITTLE if how.is_try else learn(analysis.case, analysis.facts, plain=job.experiment == PLAIN)
    return Made(
        case=analysis.case,
        learned=learned,
        idle=getattr(module, "without_effect", _works)(context, learned.seen),
        output=at_sites.digest(folder / OUTPUT),
        fresh=how.poison or "",
        duration_s=run.duration_s,
        took_s=time.monotonic() - began,
        quiet_s=quiet,
        looks_inside=_looks_inside(how),
        hung=hung,
        facts=analysis.facts,
        back=read_back(analysis.facts) if how.is_try and not analysis.case.outcome.failed else None,
    )


def _judged(run: RunResult, asked: Asked, output: Path) -> RunResult:
    """With what is wrong with a run that exited with 0: by the user's words, else by the program's own."""
    if asked.judges:
        return replace(run, wrong=criteria.wrong(asked, output, run.how.extra_env))
    return replace(run, complaint=complaints.complaint(output))


FAILED_CHECK = re.compile(
    r"mismatch|differ|wrong|incorrect|fail|error|assert|invalid|unequal|not equal|!=|should be|\bbad\b|expect|\bbroken\b|\bNG\b",
    re.IGNORECASE,
)
NOTHING = re.compile(r"\b(?:0|no|zero|without)\s+\w*\s*(?:mismatch|differ|wrong|incorrect|fail|error|bad|unexpected)\w*", re.IGNORECASE)


def checks_results(case: Case) -> bool:
    """Does the program end so because it looked at its results? A status of its own may be one: three records rejected. What the user calls
    wrong is."""
    return reports_check(case) or (case.outcome.kind == "exit" and case.outcome.exit_code == 1)


def reports_check(case: Case) -> bool:
    """Does the program say that a check of results failed? It ends by a signal, as an assertion does, or its last complaint says so."""
    outcome = case.outcome
    if outcome.kind == "signal" or (outcome.kind == "exit" and outcome.exit_code == 0):
        return True
    return outcome.kind == "exit" and bool(FAILED_CHECK.search(NOTHING.sub("", outcome.said)))


def learn(case: Case, facts: Sequence[Facts], *, plain: bool = True) -> Learned:
    """What the record of a run says. `plain`: without it, what only plain runs are asked for is left out."""
    failing = facts if plain and checks_results(case) else ()
    traces = [one.trace for one in facts]
    apis, threads, at_once, devices, waits = _look(traces)
    done, not_done = at_sites.look(traces)
    return Learned(
        apis=apis,
        frameworks=_frameworks(traces),
        threads=threads,
        devices=devices,
        launches=sum(len(one.launches) + len(one.graphs.position) for one in facts),
        parts=_has_parts(facts),
        pair=at_sites.first_pair(case),
        edges=at_sites.edges(case),
        transfers=_transfers(facts),
        offsets=next(filter(None, (one.wishes for one in map(copy_offsets.Offsets, facts))), ()),
        exchanges=next(filter(None, map(exchangeable.wishes, failing)), ()),
        redirects=next(filter(None, map(redirects.wishes, failing)), ()),
        redirected=next(filter(None, map(redirected.words, failing)), ()),
        has_lines=bool(failing) and all(map(redirects.has_lines, failing)),
        numbers=next(filter(None, (one.wishes for one in map(other_numbers.OtherNumbers, failing))), ()),
        edits=next(filter(None, map(changes, map(kernels_of_launches, failing))), ()),
        stuck=_stuck(case),
        frees=any(map(_frees, facts)),
        on_host=any(one.objects.on_host.any() for one in facts),
        sources=tuple(dict.fromkeys(one for process in facts for one in of_launches(process))),
        launched=tuple(dict.fromkeys(one for process in facts for one in launched(process))),
        suspected=frozenset(one.cause for one in case.diagnosis if one.status == "likely"),
        candidates=tuple(one.nth for _, one in which_memory.candidates(case.diagnosis, facts)) if threads <= 1 else (),
        back=read_back(facts) if failing else None,
        seen=Seen(at_once, devices, frozenset(finding.id for finding in case.findings), waits, done, not_done),
    )


LITTLE = Learned(
    apis=frozenset(), frameworks=frozenset(), threads=0, devices=frozenset(), launches=0, parts=False, pair=None, edges=(), transfers=(),
    offsets=(), exchanges=(), redirects=(), redirected=(), has_lines=False, numbers=(), edits=(), stuck="", frees=False, on_host=False,
    sources=(), launched=(), suspected=frozenset(), candidates=(), back=None, seen=Seen(),
)  # fmt: skip  # of a run with a change, which nothing is learned from


def with_learned(context: Context, learned: Learned) -> Context:
    """What is known of the program after one more plain run."""
    known = context.has_lines or not learned.redirects
    return replace(
        context,
        apis=context.apis | learned.apis,
        frameworks=context.frameworks | learned.frameworks,
        threads=max(context.threads, learned.threads),
        devices=context.devices | learned.devices,
        launches=max(context.launches, learned.launches),
        parts=context.parts or learned.parts,
        pair=context.pair or learned.pair,
        edges=context.edges or learned.edges,
        transfers=context.transfers or learned.transfers,
        offsets=context.offsets or learned.offsets,
        exchanges=context.exchanges if context.has_lines else learned.exchanges or context.exchanges,
        redirects=context.redirects if known else learned.redirects,
        redirected=context.redirected if known else learned.redirected,
        has_lines=context.has_lines or learned.has_lines,
        numbers=context.numbers or learned.numbers,
        edits=context.edits or learned.edits,
        stuck=context.stuck or learned.stuck,
        frees=context.frees or learned.frees,
        on_host=context.on_host or learned.on_host,
        sources=context.sources or learned.sources,
        launched=context.launched or learned.launched,
        suspected=context.suspected | learned.suspected,
        candidates=context.candidates or learned.candidates,
        back=context.back or learned.back,
    )


FRAMEWORKS = {"torch": "/libtorch_", "python": "/python3"}  # by a part of a loaded file's path


def _frameworks(traces: Iterable[Trace]) -> frozenset[str]:
    maps = [trace.maps for trace in traces]
    return frozenset(name for name, part in FRAMEWORKS.items() if any(part in one for one in maps))


def _pinned(how: How, launch: int | None) -> How:
    return replace(how, sanitizer=replace(how.sanitizer, launch=launch)) if how.sanitizer else how


def _looks_inside(how: How) -> bool:
    """Does an instrument look at the device's work? How long such a run takes says nothing about the program."""
    return bool(how.sanitizer or how.dump or how.kernel_checks or how.simulator)


def _at_once(trace: Trace, calls: NDArray[np.bool_]) -> int:
    """How many threads were between their first and last call at the same time; all of them where calls were not kept."""
    begin, end = (trace.column(name)[calls].astype(np.uint64) for name in ("begin", "end"))
    end[end == 0] = np.iinfo(np.uint64).max  # has not returned
    _, which = np.unique(trace.column("tid")[calls], return_inverse=True)
    first, last = (
        np.full(which.max(initial=-1) + 1, np.iinfo(np.uint64).max),
        np.zeros(which.max(initial=-1) + 1, np.uint64),
    )
    np.minimum.at(first, which, begin)
    np.maximum.at(last, which, end)
    if trace.gaps:
        return len(first)
    return max((int(((first <= start) & (start <= last)).sum()) for start in first), default=0)


def _look(traces: Iterable[Trace]) -> tuple[frozenset[str], int, int, frozenset[str], int]:
    """APIs, most threads of one process that made calls, and that did at once, devices, and waits that have no caller: the
    recorder's own."""
    apis: set[str] = set()
    devices: set[str] = set()
    threads = at_once = waits = 0
    for trace in traces:
        every_api = np.array([call.api for call in trace.schema.calls])
        calls = every_api[trace.call] != "note"
        apis.update(np.unique(every_api[trace.call[calls]]).tolist())
        threads = max(threads, len(np.unique(trace.column("tid")[calls])))
        at_once = max(at_once, _at_once(trace, calls))
        waits += int((trace.column("caller", trace.select(trace.schema.doing("wait"))) == 0).sum())
        devices.update(trace.text(int(at)) for at in trace.named("note_device"))
    return frozenset(apis), threads, at_once, frozenset(devices), waits


def _has_parts(facts: Iterable[Facts]) -> bool:
    """Are buffers used by parts that could be memory of their own? Each process that has parts must allow it."""
    made = [one for one in facts if len(one.objects.rows_of("subbuffer"))]
    return bool(made) and all(can_be_apart(one) for one in made)


def _stuck(case: Case) -> str:
    """The kernel of the launch that had not ended, where a run hung and the record names one."""
    named = [f.site.kernel for f in case.findings if f.symptom is not None and f.symptom.kind == "hang" and f.site]
    return next((kernel for kernel in named if kernel), "")


def _frees(facts: Facts) -> bool:
    """Was memory freed before the last piece of work was started?"""
    work = [*facts.launches.position, *facts.graphs.position]
    return bool(work) and bool(freed_before(facts, int(max(work)) + 1))


def _transfers(facts: Sequence[Facts]) -> tuple[str, ...]:
    """Of the process that makes most transfers: numbers count in each process."""
    busiest = max(facts, key=lambda one: len(transfers.early(one.trace)), default=None)
    return tuple(one.ranges for one in transfers.by_line(busiest.trace, busiest.sites)) if busiest else ()


def _quiet_for(folder: Path) -> float:
    """Seconds from the last call that any process began until now; infinite without calls. A process's clock starts at its
    first call, so this is read right after the run."""
    quiet = math.inf
    for trace in open_traces(folder / TRACES)[0]:
        begun = trace.column("begin")
        if len(begun):
            started = int(trace.header["start_mono_ns"]) / 1e9 + float(trace.seconds(begun.max(keepdims=True))[0])
            quiet = min(quiet, time.monotonic() - started)
    return quiet


def _command(context: Context) -> tuple[str, ...]:
    return context.command


@contextlib.contextmanager
def _around(context: Context) -> Iterator[None]:
    yield


def _works(context: Context, seen: Seen) -> str | None:
    return None
