"""The one place with the wording of reports: a Case in, an Outline out.

Written for someone tired: the verdict first, then where, how we know, what would have proved it wrong, what to do.
What is not known is left out of the rows; what was not looked at is said at the end.
"""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Iterator
from datetime import UTC, datetime

from gpudx.model import (
    Case,
    Diagnosis,
    Drawing,
    Evidence,
    Finding,
    Guilty,
    Investigation,
    Observation,
    Site,
)
from gpudx.model.case import first_rank_to_fail
from gpudx.model.fingerprint import fingerprint
from gpudx.report import contracts, figures, flake, revisions
from gpudx.report.blocks import Block, Bullets, Code, Outline, Paragraph, Rows, Section, Table
from gpudx.report.brief import counted
from gpudx.report.builds import kernels
from gpudx.report.investigation import investigated
from gpudx.report.languages import translated
from gpudx.report.safe import full
from gpudx.report.screen import next_step
from gpudx.report.verdict import only_read, verdict
from gpudx.report.wording import reworded

PLAIN = "recorded"
MOST_PER_SEVERITY = 10
LONGEST_COMMAND = 72
MOST_FRAMES = 12
MOST_FULL_DIAGNOSES = 3
MOST_OBJECTS = 6
INTERPRETER = re.compile(r"\((?:libpython|python)[\d.]+[\w.]*\)$")  # where a frame is
WITH_STACKS = "Run it again with --stacks to see the host and Python lines of this launch."

LEADS = {"error": "Errors:", "warning": "Warnings:", "info": "Notes:"}


def outline(case: Case, drawing: Drawing | None = None, language: str = "en") -> Outline:
    """The report of a case; with what its traces give, where a format wants that. Made in English, then translated."""
    case = reworded(case)
    sections = [
        _probes(case),
        *revisions.sections(case),
        *flake.first(case),
        *_story(case, drawing),
        *_rest(case, drawing),
    ]
    word, tone, headline = verdict(case)
    made = Outline(word, tone, headline, tuple(section for section in sections if section.blocks))
    return translated(made, language)


# ---- what happened ----


def _story(case: Case, drawing: Drawing | None) -> Iterator[Section]:
    """The diagnoses, best first: the best in full, other faults after it, the rest as a list."""
    told = [entry for entry in case.diagnosis if entry.status in ("confirmed", "likely")][:MOST_FULL_DIAGNOSES]
    advised = next((entry for entry in [*case.diagnosis[:1], *told] if _lacks_stack(entry.guilty)), None)
    if case.diagnosis:
        steps = [*_command(case), *_steps(case.diagnosis[0], advised)]
        yield from _diagnosis(case.diagnosis[0], steps, drawing)
    for entry in told:
        if entry is not case.diagnosis[0]:
            yield _another(entry, _steps(entry, advised))
    rest = [e for e in case.diagnosis[1:] if not any(e is other for other in told)]
    yield Section("Also considered", _bullets([_in_short(entry) for entry in rest]))


def _probes(case: Case) -> Section:
    """What became of the marks that the user asked about; those that are not in what ran come first."""
    asked = case.identity.probes if case.identity else ()
    order = ("absent", "unknown", "not reached", "present", "fired")
    told = sorted(asked, key=lambda probe: order.index(probe.state))
    return Section("Probes", _bullets([f"{probe.state.upper()} {probe.text!r}: {probe.said}" for probe in told]))


def _lacks_stack(guilty: Guilty | None) -> bool:
    """Is it a launch that is not known to have been made from any line?"""
    return guilty is not None and guilty.launch is not None and not guilty.host_stack and not guilty.source


def _steps(entry: Diagnosis, advised: Diagnosis | None) -> list[str]:
    """What to do next; the advice to record stacks is given once."""
    return [*entry.fix, *([WITH_STACKS] if entry is advised else [])]


def _command(case: Case) -> list[str]:
    """Where no cause was found: the command that the first screen ends with, before the general advice."""
    if case.diagnosis[0].status != "inconclusive":
        return []
    command, _, remark = next_step(case).partition("   # ")
    return [f"Run `{command}`" + (f" ({remark})." if remark else ".")] if command else []


def _diagnosis(entry: Diagnosis, steps: list[str], drawing: Drawing | None) -> Iterator[Section]:
    where: tuple[Block, ...] = (*(_where(entry.guilty) if entry.guilty else ()), *_to_change(entry.root))
    yield Section("Where it went wrong", where)
    yield from figures.guilty(drawing)
    yield Section("How we know", _evidence(entry.evidence) + _paragraph(entry.reason))
    yield Section("This would be wrong if", _paragraph(entry.refutes_if))
    yield Section("What to do next", _bullets(steps, numbered=len(steps) > 1))
    if entry.victim:
        yield Section("First symptom", _paragraph(entry.victim.description) + _surfaced(entry))
    yield Section("Evidence that was not counted", _evidence(entry.not_counted))


def _surfaced(entry: Diagnosis) -> tuple[Block, ...]:
    """The call in which it surfaced, unless it is the guilty one, which has been shown."""
    site = entry.victim.site if entry.victim else None
    same = site and entry.guilty and (site.call, site.number) == (entry.guilty.call, entry.guilty.number)
    return () if same else _site_rows(site)


def _another(entry: Diagnosis, steps: list[str]) -> Section:
    blocks = (
        *_paragraph(entry.summary),
        *(_where(entry.guilty) if entry.guilty else ()),
        *_evidence(entry.evidence),
        *_bullets(steps),
    )
    return Section(f"Another cause: {entry.cause} ({entry.status})", blocks)


def _in_short(entry: Diagnosis) -> str:
    return f"{entry.status}: {entry.summary}" + (f" {entry.reason}" if entry.reason else "")


def _where(guilty: Guilty) -> tuple[Block, ...]:
    number = f", call number {guilty.number:,}" if guilty.number is not None else ""
    memory = guilty.allocation
    size = f", {memory.size:,} bytes" if memory and memory.size is not None else ""
    rows = [
        ("call", f"{guilty.call} ({guilty.api}{number})"),
        ("kernel", guilty.kernel),
        ("launch", None if guilty.launch is None else f"number {guilty.launch:,}"),
        ("argument", _argument(guilty.argument, guilty.argument_name)),
        ("value", guilty.value),
        ("buffer", f"{memory.id}{size}, {memory.state}" if memory else None),
        ("source", guilty.source),
    ]
    return (*_rows(rows), *_stack(guilty.host_stack, " of the launch" if guilty.launch is not None else ""))


def _to_change(root: Site | None) -> tuple[Block, ...]:
    """The call whose line a verdict shows, where it is not the guilty one."""
    if root is None:
        return ()
    place = f"{root.call}, call number {root.number:,}" + (f", at {root.source}" if root.source else "")
    return (*_rows([("to change", place)]), *_stack(root.host_stack, " of the call to change"))


def _site_rows(site: Site | None) -> tuple[Block, ...]:
    if site is None:
        return ()
    rows = [
        ("call", f"{site.call}, call number {site.number:,}"),
        ("status", site.status),
        ("kernel", site.kernel),
        ("argument", _argument(site.argument, site.argument_name)),
        ("thread", f"{site.tid} of process {site.pid}"),
        ("source", site.source),
    ]
    return (*_rows(rows), *_stack(site.host_stack))


def _argument(index: int | None, name: str | None) -> str | None:
    if index is None:
        return name
    return f"{index} ({name})" if name else str(index)


def _stack(frames: tuple[str, ...], of: str = "") -> tuple[Block, ...]:
    """Python's lines without those of the interpreter that runs them."""
    if not frames:
        return ()
    if any(one.endswith("(python)") for one in frames):
        frames = tuple(one for one in frames if not INTERPRETER.search(one))
    shown = frames[:MOST_FRAMES]
    more = [f"... {len(frames) - len(shown)} more"] if len(frames) > len(shown) else []
    return (Paragraph(f"Host stack{of}, innermost first:"), Code((*shown, *more)))


# ---- the rest ----


def _rest(case: Case, drawing: Drawing | None) -> Iterator[Section]:
    yield from figures.pictures(drawing)
    yield contracts.section(case)
    yield from investigated(case)
    yield from flake.rest(case)
    yield Section("Ranks", _ranks(case))
    yield Section("How to reproduce it", _reproduce(case))
    yield Section(f"Findings: {counted(case)}", _findings(case) if case.findings else ())
    yield kernels(case)
    yield Section("What was read" if only_read(case) else "How the program ended", _ending(case))
    if case.investigation is None:
        yield Section("Experiments", _bullets(_experiments(case)))
    yield Section("What was recorded", _processes(case), aside=True)
    yield Section("Binaries", _who_ran(case), aside=True)
    yield Section("Coverage", _instruments(case), aside=True)
    yield Section("Gaps", _bullets(_gaps(case)))
    yield Section("Not checked", _bullets(list(case.not_checked)))
    yield Section(
        "Case",
        _paragraph(case.directory) + _rows([("fingerprint", fingerprint(case))]) + figures.files(drawing),
        aside=True,
    )


def _reproduce(case: Case) -> tuple[Block, ...]:
    """The commands, for a shell. What was only read was not run."""
    if only_read(case) or not case.command:
        return ()
    state = case.investigation
    extra = [f"{name}={value}" for name, value in sorted(case.environment.items())]
    folder = [f"cd {shlex.quote(state.folder)}"] if state and state.folder else []
    ways = [["run", *_ways(case), "--", *case.command]]
    if state:
        ways.append(["investigate", *_given(state), "--", *(state.command or case.command)])
    before = ["env", *extra] if extra else []
    commands = [line for way in ways for line in _broken([*before, "gpudx", *way])]
    return (Code((*folder, *commands)),)


def _broken(words: list[str]) -> Iterator[str]:
    """A command in lines that a terminal need not break, each continued as a shell reads it."""
    line = ""
    for word in map(shlex.quote, words):
        if line and len(line) + len(word) >= LONGEST_COMMAND:
            yield f"{line} \\"
            line = "   "
        line += f" {word}" if line else word
    yield line


def _given(state: Investigation) -> list[str]:
    """The options of `gpudx investigate`, which are not all about single runs."""
    return [word for name, value in state.options for word in (name, value) if word]


def _ways(case: Case) -> list[str]:
    """The options of `gpudx run` that made this run what it was."""
    return list(case.observations[0].ways.options) if case.observations and not case.investigation else []


def _findings(case: Case) -> tuple[Block, ...]:
    blocks: list[Block] = []
    for severity, lead in LEADS.items():
        chosen = [finding for finding in case.findings if finding.severity == severity]
        if chosen:
            more = len(chosen) - MOST_PER_SEVERITY
            tail = [f"and {more:,} more; case.json has them all"] if more > 0 else []
            blocks += [Paragraph(lead), *_bullets([*map(_finding, chosen[:MOST_PER_SEVERITY]), *tail])]
    return tuple(blocks)


def _finding(finding: Finding) -> str:
    times = f" Seen {finding.count:,} times." if finding.count > 1 else ""
    site = finding.site
    place = f" ({site.call}, call number {site.number:,}{', ' + site.source if site.source else ''})" if site else ""
    return f"{finding.message}{place}{times} [{finding.id}]"


def _ending(case: Case) -> tuple[Block, ...]:
    address = f" The faulting address was {case.outcome.fault_address}." if case.outcome.fault_address else ""
    return _paragraph(case.outcome.summary + address) + _rows([("command", " ".join(case.command))])


def _experiments(case: Case) -> list[str]:
    """All but the plain run when it was made once: how that ended has just been said."""
    return [_observation(seen) for seen in case.observations if seen.experiment != PLAIN or seen.runs > 1]


def _observation(seen: Observation) -> str:
    note = f" {seen.note}" if seen.note else ""
    return f"{seen.experiment}: {seen.outcome}, {seen.reproduced} of {seen.runs} runs failed.{note}"


def _ranks(case: Case) -> tuple[Block, ...]:
    """One row for each rank of a job, the first to fail first; ranks without a fault of their own that failed later are followers."""
    ranked = [one for one in case.processes if one.rank]
    if len(ranked) < 2:
        return ()
    causes = {pid: entry.cause for entry in reversed(case.diagnosis) for pid in entry.processes}
    failed = first_rank_to_fail(case.processes)
    rows = []
    for one in sorted(ranked, key=lambda p: (not p.failed, p.ended_at if p.ended_at is not None else math.inf, int(p.rank))):
        first = failed is not None and one.failed and one.ended_at == failed.ended_at
        word = "failed first" if first else "follower" if one.failed and one.pid not in causes else ""
        when = f"{one.ended_at:.3f} s" if one.ended_at is not None else ""
        said = ", ".join(filter(None, [word, causes.get(one.pid, "")]))
        rows.append((one.rank, str(one.pid), one.how or one.ended, when, said))
    return (Table(("rank", "process", "ended", "at", "verdict"), tuple(rows)),)


NUMBERED = "The number of a call counts the recorder's own notes, too: `gpudx show CASE calls` lists both."


def _processes(case: Case) -> tuple[Block, ...]:
    rows = tuple((str(p.pid), p.command, f"{p.calls:,}", f"{p.launches:,}", p.ended) for p in case.processes)
    table = Table(("process", "command", "calls", "launches", "ended"), rows)
    return (table, *_paragraph(NUMBERED)) if rows else ()


def _who_ran(case: Case) -> tuple[Block, ...]:
    """The programs of the user's own, and their repositories; the rest is for `gpudx show`."""
    if case.identity is None:
        return ()
    own = [one for one in case.identity.objects if one.own and one.sha256][:MOST_OBJECTS]
    trees = [tree for tree in case.identity.trees if tree.head]
    files = [
        (one.path, f"sha256 {one.sha256[:16]}, build id {one.build_id[:16] or 'none'}, {_when(one.modified)}")
        for one in own
    ]
    state = {True: ", with changes that are not committed", False: "", None: ""}
    repositories = [
        (tree.root, f"revision {tree.head[:12]} of {_when(tree.committed)}{state[tree.dirty]}") for tree in trees
    ]
    rows = [(full(name), said) for name, said in [*files, *repositories]]
    return (*_rows(list(rows)), *_paragraph("All loaded files: gpudx show CASE identity")) if rows else ()


def _when(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def _instruments(case: Case) -> tuple[Block, ...]:
    rows = tuple((f"{i.name} {i.version}".strip(), i.state, i.saw) for i in case.instruments)
    return (Table(("tool", "state", "result"), rows),) if rows else ()


def _gaps(case: Case) -> list[str]:
    return [f"Process {process.pid}: {gap}" for process in case.processes for gap in process.gaps]


# ---- small parts ----


def _evidence(evidence: tuple[Evidence, ...]) -> tuple[Block, ...]:
    files = tuple(one.raw or "" for one in evidence)
    return (Bullets(tuple(map(_fact, evidence)), files=files),) if evidence else ()


def _fact(evidence: Evidence) -> str:
    numbers = ", ".join(f"{number:,}" for number in evidence.calls[:5]) + (", ..." if len(evidence.calls) > 5 else "")
    calls = f" [call{'s' if len(evidence.calls) > 1 else ''} {numbers}]" if evidence.calls else ""
    raw = f" See {evidence.raw}." if evidence.raw else ""
    return f"{evidence.text}{calls}{raw}"


def _rows(rows: list[tuple[str, str | None]]) -> tuple[Block, ...]:
    known = tuple((key, value) for key, value in rows if value)
    return (Rows(known),) if known else ()


def _paragraph(text: str) -> tuple[Block, ...]:
    return (Paragraph(text),) if text else ()


def _bullets(items: list[str], numbered: bool = False) -> tuple[Block, ...]:
    return (Bullets(tuple(items), numbered),) if items else ()
