"""Thousands of lines become one entry per site: the first of its kind, with a count."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TypeVar

from gpudx.evidence.logs import _next, compilers, gpu_words, kernel_build, program_error, tests_failed, unrecognised
from gpudx.evidence.logs._event import NOT_UNDERSTOOD, Compiled, Event, Site
from gpudx.evidence.logs._scan import Scan
from gpudx.model import KernelBuild

T = TypeVar("T")
MOST_SITES = 2000
MOST_STRANGE = 8  # lines that are shown where nothing is understood
BY_WORDS = (program_error.FORMAT, unrecognised.FORMAT)
BUILD_LOG = 200  # lines of a build log between a compiler's line and what the program says of it
HEADLINE = 6  # lines from a headline to the error that it leads to
NAMING = ("cuda-error", "hip-error", "opencl-error", "gpu-status", "cuda-libraries", "xla", "pytorch", "device-lost", "windows-stop")
REASON_ABOVE = ("host-abort", "go-stack")  # what was printed before it says why, in whatever words
ROLES = ("fault", "refusal", "report", "ending")  # on one line, what says most comes first


@dataclass
class Told:
    """What a log tells of at one site."""

    event: Event
    count: int = 1
    last: int = 0  # line
    ranks: tuple[str, ...] = ()  # that tell of it, in order


@dataclass(frozen=True)
class Log:
    """What was read of one log."""

    name: str
    lines: int
    size: int
    told: tuple[Told, ...]  # by line
    left_out: int = 0  # events of further sites
    unread: tuple[tuple[str, int], ...] = ()  # formats of which there was too much, and the lines that were not read
    builds: tuple[KernelBuild, ...] = ()  # what the output of compilers about kernels
    sources: tuple[Compiled, ...] = ()  # files that a compiler was called for
    commands: tuple[tuple[int, str], ...] = ()  # programs that were started, with their lines
    system: str = ""  # "linux", "windows", "android", "macos", where the log shows it


def read_log(name: str, chunks: Iterable[bytes], found: Callable[[Callable[[], Log]], None] | None = None) -> Log:
    """The events of a log, one entry per site, in order of their first lines. `found` is called for each new site, with what gives the
    log as far as it is known: for logs that are still being written."""
    scan, sites, left_out = Scan(), dict[Site, Told](), 0
    for event in scan.events(chunks):
        known = sites.get(event.site)
        if known is not None:
            known.count, known.last = known.count + 1, event.line
            known.ranks = _once((*known.ranks, *_rank(event)))
        elif len(sites) < MOST_SITES:
            sites[event.site] = Told(event, last=event.line, ranks=_rank(event))
            if found is not None:
                found(lambda: _log(name, scan, sites, 0))
        else:
            left_out += 1
    return _log(name, scan, sites, left_out)


def _log(name: str, scan: Scan, sites: dict[Site, Told], left_out: int) -> Log:
    """What is known when so much has been read."""
    sites = {site: replace(one) for site, one in sites.items()}
    for site, more in scan.repeats.items():
        if site in sites:
            sites[site].count += sum(count for count, _ in more)
            sites[site].last = max(sites[site].last, *(last for _, last in more))
    failures = _outside(list(sites.values()), list(scan.all("passed")))
    kept = _repeated(_compiled(_said_again(_understood(failures))))
    told = sorted(kept, key=lambda one: (one.event.line, ROLES.index(one.event.role)))
    unread = tuple(sorted(scan.unread.items()))
    return Log(
        name,
        scan.lines,
        scan.size,
        tuple(told),
        left_out,
        unread,
        _once(scan.all("builds")),
        _once(scan.all("sources")),
        _once(scan.all("commands")),
        next(iter(scan.all("systems")), ""),
    )


def _rank(event: Event) -> tuple[str, ...]:
    return tuple(value for name, value in event.context if name == "rank")


def _said_again(told: list[Told]) -> list[Told]:
    """Without vague lines that a line with the name of the error follows: both tell of one failure, and the name says more."""
    named = [one.event.line for one in told if one.event.format in NAMING]
    return [
        one
        for one in told
        if not gpu_words.is_vague(one.event) or not any(0 < line - one.last <= HEADLINE for line in named)
    ]


def _outside(told: list[Told], passed: list[range]) -> list[Told]:
    """Without what is a failure only by its words, in runs of tests in which no test failed: tests of errors print them."""
    return [
        one
        for one in told
        if one.event.format not in BY_WORDS or not any(one.event.line in run and one.last in run for run in passed)
    ]


def _repeated(told: list[Told]) -> list[Told]:
    """Where a test passed and failed, what it printed is settled by running it again and comparing the runs."""
    if not any(one.event.kind == tests_failed.FLAKY for one in told):
        return told
    return [
        replace(one, event=replace(one.event, next=_next.FLAKE))
        if not one.event.causes and one.event.next in ("", _next.RECORD, _next.INVESTIGATE)
        else one
        for one in told
    ]


def _compiled(told: list[Told]) -> list[Told]:
    """A status or "build failed" says that a kernel was not built; the compiler's own first error near it says why, and leads."""
    errors = [one for one in told if one.event.format == compilers.FORMAT and one.event.kind == "build-failed"]
    found: list[Told] = []
    leads: set[int] = set()
    for one in told:
        wraps = one.event.format != compilers.FORMAT and kernel_build.wraps(one.event)
        near = [e for e in errors if abs(e.event.line - one.event.line) <= BUILD_LOG] if wraps else []
        if near:
            leads.add(id(near[0]))
            one = replace(one, event=replace(one.event, role="ending", causes=()))
        found.append(one)
    return _first_leads([replace(one, event=compilers.leading(one.event)) if id(one) in leads else one for one in found])


def _first_leads(told: list[Told]) -> list[Told]:
    """Of the errors of one compilation, the first leads: others often come of it."""
    last = -BUILD_LOG - 1
    for at, one in enumerate(told):
        if one.event.format == compilers.FORMAT and one.event.causes:
            told[at] = replace(one, event=replace(one.event, causes=())) if one.event.line - last <= BUILD_LOG else one
            last = one.event.line
    return told


def _understood(sites: Iterable[Told]) -> list[Told]:
    """Lines that nobody understands count only where nothing else tells of a failure; the first of them are enough."""
    known = [one for one in sites if one.event.kind != NOT_UNDERSTOOD]
    telling = [one for one in known if not program_error.is_weak(one.event.kind)]
    says = [one.event for one in telling if not one.event.warning and one.event.kind not in REASON_ABOVE]
    if any(one.finding is None or one.causes for one in says):
        return telling
    return [*known, *[one for one in sites if one.event.kind == NOT_UNDERSTOOD][:MOST_STRANGE]]


def _once(things: Iterable[T]) -> tuple[T, ...]:
    return tuple(dict.fromkeys(things))
