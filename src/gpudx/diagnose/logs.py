"""What pasted logs say: which event is the first, which only follow it, and what they do not prove. How several logs become one
story: `stories`.

    first       the first event that is no consequence; a record of the device itself counts more than a report of it
    followers   after a fault of the device every later call fails: reports and refusals behind it, and endings, are
                folded; not beyond the end of a process
    severity    error for what stands for itself, info for followers

An asynchronous error is an interval, not a line: reports are "inconclusive" here, whatever call or line printed them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from gpudx.causes import every as every_cause
from gpudx.diagnose.stories import (
    ENDS,
    WAITING,
    Entry,
    Judged,
    may_be_same,
    place,
    rank_of,
    says,
    shared,
    stories,
    told_once,
)
from gpudx.evidence.reading import NOT_UNDERSTOOD, Event, Log, fit, said, was_never_made
from gpudx.evidence.sources import Source, bare, built, kernel_lines, tile_builds
from gpudx.model import Built, Diagnosis, Evidence, Finding, Instrument, Outcome, Severity, Victim, Written
from gpudx.text import plural

LOG = "log"  # the instrument's name
# Endings that say nothing of a cause.
SELDOM_WHY = ("test-failed", "test-flaky", "host-abort", "gpu-reset", "host-stack", "python-stack", "go-stack")
SETUP = ("no-device", "firmware-missing", "driver-init-failed", "device-wedged", "driver-not-installed")
EVIDENCE = ("sanitizer-clean", "device-code", "amd-launches")  # no faults: they follow nothing
API = {
    "pytorch": "cuda",
    "cuda-libraries": "cuda",
    "compute-sanitizer": "cuda",
    "ggml": "cuda",
    "xla": "cuda",
    "triton": "cuda",
    "xid": "cuda",
}
TRACEBACK = "python-exception"
MOST_REFUSED = 100
ONLY_A_LOG = (
    "A log contains only what was printed: calls that printed nothing and faults that no tool detected are not in it."
)


@dataclass(frozen=True)
class Explained:
    """What a case is made of."""

    findings: tuple[Finding, ...]
    diagnosis: tuple[Diagnosis, ...]
    instruments: tuple[Instrument, ...]
    outcome: Outcome
    not_checked: tuple[str, ...]
    kernels: tuple[Built, ...] = ()


def explain(logs: Sequence[Log], sources: Sequence[Source] = ()) -> Explained:
    """The whole of it, for one or several logs, with the source files that they name."""
    commands = [command for log in logs for _, command in log.commands[:1]]
    system = next((log.system for log in logs if log.system), "")
    logs = [_fitted(_with_sources(replace(log, system=log.system or system), sources), commands) for log in logs]
    told = stories(logs)
    judged = [told_once(tuple(_judge(story)), story) for story in told]
    entries = [entry for one in judged for entry in _diagnosis(one)]
    return Explained(
        findings=tuple(_finding(one) for log in judged for one in log),
        diagnosis=tuple(sorted(entries, key=lambda entry: entry.status == "inconclusive")),
        instruments=tuple(_instrument(log) for log in logs),
        outcome=Outcome("not started", _summary(logs, judged)),
        not_checked=tuple(_not_checked(logs)),
        kernels=built((build for log in logs for build in log.builds), sources),
    )


def _with_sources(log: Log, sources: Sequence[Source]) -> Log:
    """Events that say more with the sources at hand."""
    lines = kernel_lines(sources)
    return replace(log, told=tuple(replace(one, event=_sourced(one.event, log, sources, lines)) for one in log.told))


def _fitted(log: Log, others: Sequence[str]) -> Log:
    """Next steps with the log's own command, or with one of the logs beside it, for the system that it is of; what it says of the
    place is kept."""
    return replace(log, told=tuple(replace(one, event=_fitted_event(one.event, log, others)) for one in log.told))


def _fitted_event(event: Event, log: Log, others: Sequence[str]) -> Event:
    before = [command for line, command in log.commands if line <= event.line]
    command = before[-1] if before else log.commands[0][1] if log.commands else next(iter(others), "")
    place_words = said(event.context)
    notes = (*((f"the log names {place_words}",) if place_words else ()), *event.notes)
    return replace(
        event,
        next=fit(event.next, command, log.system, _api(event)),
        notes=notes,
    )


def _sourced(event: Event, log: Log, sources: Sequence[Source], lines: dict[str, str]) -> Event:
    if event.kind == tile_builds.KIND:
        return tile_builds.told(event, log.builds, sources)
    kernel = dict(event.facts).get("kernel", "")
    known = lines.get(bare(kernel), "")
    return replace(event, notes=(*event.notes, f"{kernel} is declared at {known}")) if known else event


def _not_checked(logs: Sequence[Log]) -> Iterator[str]:
    if any(log.told for log in logs):
        yield ONLY_A_LOG
    for log in logs:
        for name, lines in log.unread:
            yield f"{log.name}: {plural(lines, 'line')} of {name} after the first were counted, not read."


# ---- first and followers ----


class _Device:
    """What has gone wrong on the device so far, in each log (of each rank, where they are told apart) and in all; a process that ended
    is forgotten in its log."""

    def __init__(self) -> None:
        self._own: dict[Process, Entry] = {}
        self._first: Entry | None = None
        self._over: set[Process] = set()  # logs in which a process has ended: what other logs told before was of that one

    def leader(self, one: Entry) -> Entry | None:
        """What an event can be a consequence of: of its own log anything, of another one what can be the same fault."""
        own = self._own.get(_process(one))
        if own is not None and _can_follow(one.told.event, own.told.event):
            return own
        other = self._first if _process(one) not in self._over else None
        if other is None or _process(other) == _process(one):
            return None
        ended = one.told.event.role == "ending" and other.told.event.kind not in WAITING  # who waits ends nobody else
        same = ended or may_be_same(one.told.event, other.told.event)
        return other if same else None

    def add(self, one: Entry) -> None:
        event = one.told.event
        if event.kind in ENDS:
            self._own.pop(_process(one), None)
            self._over.add(_process(one))
        elif event.role in ("fault", "report") and not event.warning:
            self._own.setdefault(_process(one), one)
            self._first = self._first or one


Process = tuple[str, str]  # the log, and the rank where its lines name some


def _process(one: Entry) -> Process:
    return one.log, rank_of(one.told.event, one.log)


def _judge(story: Iterable[Entry]) -> Iterator[Judged]:
    """In order; what comes after the end of a process is another story."""
    broken = _Device()
    refused: list[Entry] = []  # of processes that have not ended
    before: dict[str, Entry] = {}  # of each log the first event of the process that stands for itself
    for one in story:
        event, follows = one.told.event, None
        if event.role in ("report", "refusal", "ending") and event.kind not in EVIDENCE:
            follows = broken.leader(one)
        if event.role == "ending" and event.kind not in EVIDENCE:
            follows = follows or before.get(one.log)
        follows = follows or next((entry for entry in refused if _explains(entry, one)), None)
        leader = (follows.told, follows.log) if follows else (None, "")
        yield Judged(one.told, one.log, _severity(event, leader[0]), *leader)
        broken.add(one)
        if event.role == "refusal" and not event.warning and follows is None and len(refused) < MOST_REFUSED:
            refused.append(one)
        if event.kind in ENDS:
            refused = [entry for entry in refused if entry.log != one.log]
            before.pop(one.log, None)
        elif event.role != "ending" and not event.warning:
            before.setdefault(one.log, one)


def _explains(refused: Entry, one: Entry) -> bool:
    """Would an earlier call, which was refused, have made the object that this one is refused for?"""
    return refused.log == one.log and was_never_made(one.told.event, refused.told.event)


def _can_follow(event: Event, leader: Event) -> bool:
    """What was built wrong explains the errors that can come of it, and no others."""
    return leader.kind != tile_builds.KIND or event.role == "ending" or may_be_same(event, leader)


def _severity(event: Event, follows: object | None) -> Severity:
    if follows is not None:
        return "info"
    if event.finding is not None:
        return event.finding.severity
    return "warning" if event.warning or event.kind in SELDOM_WHY else "error"


def first_of(judged: Iterable[Judged]) -> Judged | None:
    """The event that the others are held against; None where nothing stands for itself."""
    standing = [one for one in judged if one.follows is None]
    errors = [one for one in standing if one.severity == "error"]
    if errors and errors[0].told.event.kind in SETUP and all(one.told.event.role in ("refusal", "ending") for one in errors):
        return errors[0]  # whoever has no device is refused everything
    if errors and errors[0].told.event.role == "report":
        named = [one for one in errors if one.told.event.causes]
        faults = [one for one in named if one.told.event.role == "fault"]
        return (faults or named or errors)[0]
    if errors and errors[0].told.event.role == "fault" and not says(errors[0].told.event):
        # The order of logs without a common clock says nothing: a record with a kernel counts before one without.
        telling = [one for one in errors if one.log != errors[0].log and one.told.event.role == "fault" and says(one.told.event)]
        if telling and not _one_clock((errors[0], *telling)):
            return telling[0]
    warned = [one for one in standing if one.severity == "warning" and one.told.event.causes]
    named = [one for one in errors if one.told.event.causes]  # an ending says how, another event why
    return next(iter(named or errors or warned), None)


def _one_clock(judged: Iterable[Judged]) -> bool:
    clocks = {one.told.event.clock for one in judged}
    return len(clocks) == 1 and "" not in clocks


# ---- findings ----


def _finding(one: Judged) -> Finding:
    event = one.told.event
    made = event.finding
    return Finding(
        id=made.id if made else f"log-{event.kind}",
        severity=one.severity,
        message=_message(one).strip(),
        evidence=(Evidence(_quoted(one)), *(Evidence(note) for note in event.notes), *_own_evidence(one)),
        causes=event.causes,
        facts=made.facts if made else event.facts,
        access=made.access if made else None,
        code=made.code if made else None,
        written=_written(one),
        count=made.count if made else one.told.count,
    )


def _own_evidence(one: Judged) -> Iterator[Evidence]:
    """Of a parser of the tool's own format, without what the quoted line says already."""
    event = one.told.event
    own = event.finding.evidence if event.finding else ()
    return (fact for fact in own if not (event.quote and fact.text.endswith(event.quote)))


def _written(one: Judged) -> Written:
    event, follows = one.told.event, one.follows
    leader = (one.follows_log, follows.event.line) if follows else None
    return Written(one.log, event.line, one.told.last, event.format, event.role, leader, event.next or "")


def _message(one: Judged) -> str:
    event, follows = one.told.event, one.follows
    if follows is None:
        return event.message
    text = event.message.partition("; ")[0].rstrip(".")
    leader = place(follows, one.follows_log) if one.follows_log != one.log else f"line {follows.event.line:,}"
    if one.same:
        return f"{text}; this is probably the same fault as {leader}."
    if event.kind == TRACEBACK and follows.event.role == "report":
        return f"{text}: this line noticed the fault of {leader} and did not cause it."
    return f"{text}; this follows {leader}."


def _quoted(one: Judged) -> str:
    event = one.told.event
    count = event.finding.count if event.finding else one.told.count
    last = f", up to line {one.told.last:,}" if one.told.last > event.line else ""
    more = f" (and {count - 1:,} more{last})" if count > 1 else ""
    return f"{one.place}: {event.quote}{more}"


# ---- the diagnosis ----


def _diagnosis(judged: tuple[Judged, ...]) -> Iterator[Diagnosis]:
    first = first_of(judged)
    if first is None or not first.told.event.causes:
        return
    event, finding = first.told.event, _finding(first)
    cause = every_cause()[event.causes[0]]
    sure = event.sure and event.role in ("fault", "refusal") and first.severity == "error"
    under = [one for one in judged if one.follows is first.told]
    followers = [Evidence(f"{_message(one)} ({_quoted(one)})") for one in under if not one.same]
    again = [
        Evidence(f"also reported by {one.told.event.format}{_same(one, event)}: {one.place}")
        for one in under
        if one.same
    ]
    yield Diagnosis(
        cause=cause.id,
        status="likely" if sure else "inconclusive",
        summary=finding.message,
        guilty=event.guilty,
        victim=Victim(f"It was noticed in {event.noticed}; that call or line is not the cause.")
        if event.noticed
        else None,
        evidence=(finding.evidence[0], *again, *_ranks(judged, first), *finding.evidence[1:], *_earliest(judged, first)),
        refutes_if=cause.refutes_if,
        fix=_steps(event, cause.steps(_api(event)) if sure else ()),
        reason=_reason(event),
        findings=(finding.fingerprint,),
        not_counted=tuple(followers),
    )


def _same(one: Judged, event: Event) -> str:
    common = shared(one.told.event, event)
    return f" (same {', same '.join(common)})" if common else ""


def _ranks(judged: tuple[Judged, ...], first: Judged) -> Iterator[Evidence]:
    """Which ranks tell of it: the first one is where to look, the others often only wait for it."""
    ranks = dict.fromkeys(rank for one in judged for rank in one.told.ranks or (rank_of(one.told.event, one.log),) if rank)
    own = rank_of(first.told.event, first.log)
    if own and len(ranks) > 1:
        others = ", ".join(rank for rank in ranks if rank != own)
        yield Evidence(
            f"rank {own} is the first with this failure in these logs; ranks that report something as well: {others}"
        )


def _earliest(judged: tuple[Judged, ...], first: Judged) -> Iterator[Evidence]:
    """Which of the events of this fault was written first, where one clock stamped several logs."""
    own = [one for one in judged if one is first or one.follows is first.told]
    times = [(one.told.event.time, one) for one in own if one.told.event.clock == first.told.event.clock != ""]
    if len({one.log for _, one in times}) > 1:
        yield Evidence(f"by time stamp, its first line is {min(times, key=lambda pair: pair[0])[1].place}")


def _api(event: Event) -> str:
    return dict(event.facts).get("api", "") or API.get(event.format, "")


def _steps(event: Event, fix: tuple[str, ...]) -> tuple[str, ...]:
    return (*((f"To settle it: {event.next}",) if event.next else ()), *(event.fix or fix))


def _reason(event: Event) -> str:
    if event.role == "report":
        return (
            "A log alone does not show which launch caused it: any launch since the last successful wait is possible."
        )
    if event.role == "ending":
        return "The log shows how it ended, not why."
    return ""


# ---- what was read ----


def _instrument(log: Log) -> Instrument:
    counts: dict[str, int] = {}
    for one in (told for told in log.told if told.event.kind != NOT_UNDERSTOOD):
        counts[one.event.format] = counts.get(one.event.format, 0) + one.count
    known = ", ".join(f"{name} ({count:,})" for name, count in counts.items()) or "nothing"
    more = f"; {plural(log.left_out, 'further event')} left out" if log.left_out else ""
    blind = "not all lines were read" if log.left_out or log.unread else ""
    return Instrument(
        f"{LOG} {log.name}", "live", f"{plural(log.lines, 'line')}; recognised: {known}{more}.", blind=blind
    )


def _summary(logs: Sequence[Log], judged: Sequence[tuple[Judged, ...]]) -> str:
    lines = sum(log.lines for log in logs)
    if not any(judged):
        return f"Nothing in {plural(lines, 'line')} looks like a failure. `gpudx rule` lists the known formats."
    strange = [one for log in judged for one in log if one.told.event.kind == NOT_UNDERSTOOD]
    if strange and len(strange) == sum(map(len, judged)):
        return f"No known message in {plural(lines, 'line')}; {plural(len(strange), 'line')} that may be a failure are listed."
    standing = sum(one.follows is None for log in judged for one in log)
    followers = sum(map(len, judged)) - standing
    tail = f" and {plural(followers, 'follower')}" if followers else ""
    return f"Read {plural(lines, 'line')} of logs and ran no program: {plural(standing, 'event')}{tail}."
