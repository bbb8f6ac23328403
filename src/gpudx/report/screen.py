"""The first screen: what `gpudx run`, `investigate`, `demo` and `explain` print. Everything else is in `gpudx report`.

At most 25 rows of the terminal: status and how the program ended, one or two sentences, the user's line of code, why, next,
coverage, and where to see more. Without a cause it is five rows that end with the command that gets further.
"""

from __future__ import annotations

import os
import re
import shlex
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from gpudx.model import Case, Diagnosis, Finding, Investigation, Outcome
from gpudx.model.case import NOTHING_CHECKED, UNCHECKED_KERNELS, first_rank_to_fail
from gpudx.report import Page, builds, flake, source_line
from gpudx.report.brief import RECORDER, calls_made, eventful, missing_calls, near, suppressions, unchecked_images
from gpudx.report.layout import cells, height, shortened, spaced_paths, table, wrapped
from gpudx.report.safe import clean, full
from gpudx.report.source_line import KernelText, SourceLine
from gpudx.report.verdict import UNFINISHED, most_telling, only_read, verdict
from gpudx.report.wording import reworded
from gpudx.text import duration, plural
from gpudx.text.names import without_arguments
from gpudx.text.places import here

MOST_ROWS, SHORT_ROWS = 25, 5
MOST_FACTS = 4
MOST_STEPS = 2
MOST_SENTENCE_LINES = 4
NARROWEST, WIDEST = 40, 120
INDENT = "  "

STYLE = re.compile("\033\\[[\\d;]*m")
COLOURS = {"bad": "1;31", "unsure": "1;33", "good": "1;32"}
BOLD, DIM = "1", "2"

# What each kind of run can find inside kernels; the recorder itself checks calls, arguments and order.
CHECKS = {
    "fenced": ("bounds",),
    "low-fenced": ("bounds",),
    "memcheck": ("bounds",),
    "poisoned": ("uninitialized reads",),
    "initcheck": ("uninitialized reads",),
    "racecheck": ("races",),
    "global-races": ("races",),
    "shared-memory": ("races",),
    "synccheck": ("barriers",),
    "checked": ("bounds", "uninitialized reads", "races", "barriers"),
    "oclgrind": ("bounds", "races"),
}
LOOPS, OF_LOOPS = "checked-loops", ("loops", "bounds", "barriers")
NARROWED = "sanitizer-narrowed"  # a finding: the tool looked at launches of one kernel only
KERNEL_CHECKS = re.compile(r"kernel checks \((.*)\)")
INSIDE = {"bounds": "bounds", "uninit": "uninitialized reads", "races": "races", "barriers": "barriers"}
INSIDE_KERNELS = ("bounds", "uninitialized reads", "races")

# Functions, variables and tools of other APIs than the program's: a step that names them cannot be followed.
FOREIGN = {
    "opencl": re.compile(r"\b(cu|cuda|hip)[A-Z]\w|\b(CUDA|HIP|AMD|ROCR)_|compute-sanitizer|rocgdb"),
    "cuda": re.compile(r"\b(cl|hip)[A-Z]\w|\b(HIP|AMD|ROCR)_|rocgdb|oclgrind"),
    "hip": re.compile(r"\b(cl|cu|cuda)[A-Z]\w|\bCUDA_|compute-sanitizer|oclgrind"),
}
SHOWS = {"recorded": (), "fenced": ("--fence",), "checked": ("--sanitize",)}  # options of `gpudx run` by experiment
LONGEST_COMMAND = 72  # columns; a longer one is shown as the shorter one that goes on with the case
LEAST_CODE = 20  # columns worth quoting
IN_CODE = re.compile(r"\+0x[0-9a-f]+$")  # a place in a kernel's machine code
WITH_LINE_INFO = "Build the kernel with -lineinfo to see its source line here"
UNLESS_REPLACED = ", unless the compiler put the trap in"  # such code has no line
WITH_LINES = "Build the program with -g to see the source line of the call here."
INVESTIGATE = "`gpudx investigate`"  # of no use where the whole command follows
SEVERAL = "Where several launches are named"  # of no use where one is
PYTHON = re.compile(r"python[\d.]*$")
OURS = re.compile(r"gpudx$")  # gpudx replay
COMMANDS = ("gpudx ", "pip ")
PIP_INSTALL = re.compile(r"pip install (?:'[^']+'|[\w.-]+)")
RUNTIME_FRAME = re.compile(r"\[|__device_stub_|libcudart_static_|(?:cuda|hip)[A-Z]")  # in a stack: no code of the user's
STACK = "its stack, "  # of no use where the user's line is shown
OWN_FRAMES = "(libgpudx"  # our own frames in a stack
MODULE = "<module>"  # no function: the top level of a Python file
UNEXPLAINED, NO_CAUSE, NOT_ENDED = "unexplained", "NO CAUSE FOUND", "NOT ENDED"
WORD = re.compile(r"[\w.]*\w")
MADE_AT = re.compile(r"(?:(?<=\d) at|, from) (\S+:\d+)")  # in "launch 2 at main.c:7 started", "call 5 reads 20 bytes, from main.c:7"
OF_SIZE = re.compile(r" elements of \d+ bytes?$")  # said by the number of elements and the size of the buffer
FOLDERS = re.compile(r"[^\s(`]*/(?=\S)")  # in front of a file's name
FILLING = {"the", "driver", "returned", "a", "an", "is", "in", "that"}  # "the driver returned CL_INVALID_VALUE" is "was refused with ..."
SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z`0-9])")


@dataclass(frozen=True)
class Room:
    """How much of each part is shown; `fits` of `render` takes away until it is one screen."""

    around: int = source_line.AROUND
    facts: int = MOST_FACTS
    fact_lines: int = 2
    steps: int = MOST_STEPS

    def smaller(self) -> Iterator[Room]:
        """Less and less: first the least helpful."""
        yield self
        yield (room := replace(self, facts=3))
        yield (room := replace(room, around=1))
        yield (room := replace(room, facts=2))
        yield (room := replace(room, steps=1))
        yield (room := replace(room, around=0, facts=3))
        yield (room := replace(room, facts=2))
        yield replace(room, facts=1)


class Writer:
    """Lines of a given width, with colours or without."""

    def __init__(
        self, page: Page, more: str = "", kernel_text: KernelText | None = None, paths: Iterable[str] = ()
    ) -> None:
        self.kernel_text = kernel_text
        self.more = more
        self.paths = {here(one) for one in paths}
        self.width = max(NARROWEST, min(page.width, WIDEST))
        self.colour = page.colour

    def styled(self, text: str, style: str) -> str:
        return f"\033[{style}m{text}\033[0m" if self.colour and text else text

    def wrapped(self, text: str, first: str = INDENT) -> list[str]:
        """Names and numbers are never broken, even where they are longer than the line; long template arguments are left out; paths
        begin here, and are cut to fit."""
        return wrapped(self.near(clean(without_arguments(text)), cells(first)), self.width, first, whole=self.paths)

    def near(self, text: str, indent: int = len(INDENT)) -> str:
        """Paths below the working directory as seen from there, and none longer than the line."""
        return shortened(here(text), self.width - indent)

    def dimmed(self, text: str) -> list[str]:
        return [self.styled(line, DIM) for line in self.wrapped(text)]

    def cut(self, text: str) -> str:
        """A line of code, which is not wrapped."""
        return text if cells(text) <= self.width else text[: self.width - 3].rstrip() + "..."

    def fits(self, lines: Iterable[str], rows: int) -> bool:
        """Does a terminal show the lines in so many rows?"""
        return height((STYLE.sub("", line) for line in lines), self.width) <= rows


def render(
    case: Case, page: Page, next_command: str = "", more: str = "", kernel_text: KernelText | None = None, rows: int = MOST_ROWS
) -> str:
    """The first screen of a case. `next_command` is what gets further where no cause was found, `more` shows the full report
    of what is not kept as a case, `kernel_text` gives the text of kernels that are in no file, `rows` is its height."""
    case = reworded(case)
    writer = Writer(page, more, kernel_text, spaced_paths(case))
    best = _best(case)
    if best is None and not _worth_showing(case):
        lines = _short(case, writer, next_command)
    else:
        place = source_line.of(case, best, kernel_text) if best else None  # once: it may read traces
        made = (_full(case, best, place, writer, room, next_command) for room in Room().smaller())
        smallest = Room(0, 1, 2, 1)
        lines = next((one for one in made if writer.fits(one, rows)), [])
        lines = lines or _full(case, best, place, writer, smallest, next_command)[:rows]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _best(case: Case) -> Diagnosis | None:
    """The entry that names a cause, of a single program; of logs, which are not run again, also one that does not."""
    return next(
        (
            one
            for one in case.diagnosis[: 0 if case.flake else 1]
            if one.status in ("confirmed", "likely") or only_read(case)
        ),
        None,
    )


def _worth_showing(case: Case) -> bool:
    """Is there no cause, but tests that failed, or errors or warnings that a reader can check?"""
    if case.flake:
        return bool(case.flake.results)
    if only_read(case) and case.kernels:
        return True
    return not case.diagnosis and any(one.severity != "info" or only_read(case) for one in case.findings)


def _full(
    case: Case, best: Diagnosis | None, place: SourceLine | None, writer: Writer, room: Room, next_command: str
) -> list[str]:
    lines = [*_head(case, writer), *_sentences(_headline(case), writer), ""]
    if place:
        lines += [*_code(place, writer, room.around), ""]
    elif best and _needs_debug_info(best, case) and (frames := _frames(best)):
        lines += [*writer.wrapped(frames), ""]
    facts = _facts(case, best, place, writer, room)
    if facts:
        lines += [writer.styled(f"{INDENT}{'Why' if best else 'Found'}", BOLD), *facts]
    steps = _steps(case, best, next_command)
    unplaced = place is None or (best is not None and best.guilty is not None and not best.guilty.source)
    if best and best.guilty and IN_CODE.search(best.guilty.source or ""):
        steps = [*steps[:1], WITH_LINE_INFO + (UNLESS_REPLACED if best.cause == "device-trap" else "") + "."]
    elif best and unplaced and _has_stack(best, case) and (command := _with_lines(case, best)):
        steps = [*steps[:1], command]
    elif best and place is None and _needs_debug_info(best, case) and not any(one.startswith(COMMANDS) for one in steps):
        steps = [*steps[:1], WITH_LINES]
    steps = steps[: room.steps]
    if steps:
        lines += [writer.styled(f"{INDENT}Next", BOLD), *_numbered(steps, writer)]
    foot = _foot(case, writer)
    lines = lines if lines[-1] else lines[:-1]
    return [*lines, "", *_built(case, writer, MOST_ROWS - len(lines) - len(foot) - 2), *foot]


def _built(case: Case, writer: Writer, rows: int) -> list[str]:
    """The kernels of a build log, the heaviest first: as many as there is room for."""
    shown = builds.table(case) if only_read(case) and case.kernels else None
    if shown is None:
        return []
    lines = table(shown.columns, shown.rows[: rows - 2], writer.width - len(INDENT)) or []
    more = len(case.kernels) - (rows - 2)
    tail = [f"and {more:,} more"] if more > 0 else []
    return [*(INDENT + line for line in (*lines, *tail)), ""] if lines and rows > 3 else []


def _short(case: Case, writer: Writer, next_command: str) -> list[str]:
    """No cause: what is known, and the command that gets further; then as much as there is room for, the most helpful first."""
    command = next_command or next_step(case)
    place = source_line.of(case, case.diagnosis[0], writer.kernel_text) if case.diagnosis else None
    parts = {
        "head": _head(case, writer),
        "sentences": _sentences(_headline(case), writer, 1),
        "notes": [],
        "said": [],
        "code": [],
        "coverage": [],
        "more": [],
        "next": [f"{INDENT}next: {full(command)}"] if command else [],
    }
    said = clean(case.outcome.said)
    checked = (("coverage", writer.dimmed(coverage(case, counts=False))),)
    for name, lines in (
        ("coverage", writer.dimmed(" ".join(filter(None, [missing_calls(case), *suppressions(case)])))),
        ("said", [writer.cut(f"{INDENT}the program printed: {said}")] if said else []),
        ("code", _one_line_of_code(place, writer) if place else []),
        *(checked if case.investigation else ()),  # what is not wrong is the result of an investigation without a cause
        ("more", _more(case, writer, "")),
        *checked,
        ("coverage", writer.dimmed(coverage(case, counts=not case.outcome.passed))),
        ("sentences", _sentences(_headline(case), writer, SHORT_ROWS)),
    ):
        more = parts | {name: lines}
        told = chain(*(lines for part, lines in more.items() if part != "next"))
        parts = more if writer.fits(told, SHORT_ROWS - len(parts["next"])) else parts  # a command is one line, however long it is
    noted = case.investigation.notes if case.investigation else ()
    return list(chain(*(parts | {"notes": list(chain(*map(writer.wrapped, noted)))}).values()))


# ---- the parts ----


def _head(case: Case, writer: Writer) -> list[str]:
    word, tone, _ = verdict(case)
    word = NO_CAUSE if word.endswith(f" {UNEXPLAINED}") else NOT_ENDED if _only_did_not_end(case) else word
    left, right = f"gpudx: {clean(word)}", "" if case.flake else ending(case.outcome)
    shown = f"gpudx: {writer.styled(clean(word), COLOURS[tone])}"
    gap = writer.width - cells(left) - cells(right)
    if not right:
        return [shown]
    return [shown + " " * gap + right] if gap >= 2 else [shown, f"{INDENT}{right}"]


def _only_did_not_end(case: Case) -> bool:
    """Was it stopped while no GPU call was open? It may be slow as well as stuck."""
    best = case.diagnosis[0] if case.diagnosis else None
    silent = best is not None and (best.cause, best.status, best.guilty) == ("hang", "inconclusive", None)
    return silent and not only_read(case)


def ending(outcome: Outcome) -> str:
    """ "exit status 1 after 0.9 s", "SIGSEGV after 147 ms"."""
    if outcome.kind == "not started":
        return "not started" if outcome.duration_s else ""
    return f"{how_it_ended(outcome)} after {duration(outcome.duration_s)}"


def how_it_ended(outcome: Outcome) -> str:
    """ "exit status 1", "SIGSEGV", "timed out"."""
    words = {"signal": outcome.signal or "killed", "timeout": "timed out"}
    return words.get(outcome.kind, f"exit status {outcome.exit_code or 0}")


def _headline(case: Case) -> str:
    return verdict(case)[2]


def _sentences(text: str, writer: Writer, most: int = MOST_SENTENCE_LINES) -> list[str]:
    """As many whole sentences as fit; the first one always."""
    sentences = SENTENCE_END.split(text)
    shown = writer.wrapped(sentences[0])
    for count in range(2, len(sentences) + 1):
        lines = writer.wrapped(" ".join(sentences[:count]))
        if len(lines) > most or count > 2:
            break
        shown = lines
    return shown


def _code(place: SourceLine, writer: Writer, around: int) -> list[str]:
    file = place.place.rpartition(":")[0]
    function = place.function.replace(f"launched at {file}:", "launched at line ")
    inside = f"in {clean(without_arguments(function))}" if function and function != MODULE else ""
    whole = (*writer.paths, inside.partition(",")[0])
    lines = wrapped(f"{writer.near(full(place.place))} {inside}", writer.width, INDENT, whole=whole)
    chosen = place.around(around)
    dedented = textwrap.dedent("\n".join(text for _, text in chosen)).split("\n")
    digits = len(str(chosen[-1][0])) if chosen else 0
    for (number, _), text in zip(chosen, dedented, strict=True) if chosen else ():
        lead = f"{INDENT}{'>' if number == place.line else ' '} {number:>{digits}} | "
        if number == place.line:
            lines += [writer.styled(line, BOLD) for line in _whole(lead, clean(text), writer)]
        else:
            lines.append(writer.cut(lead + clean(text)))
    return lines


def _whole(lead: str, text: str, writer: Writer) -> list[str]:
    """The line that is meant: on a second row where it is too long for one, cut only there."""
    row = lead + text
    if cells(row) <= writer.width:
        return [row]
    at = max(row.rfind(" ", len(lead) + 10, writer.width), row.rfind(",", len(lead) + 10, writer.width - 1) + 1)
    at = at if at > len(lead) else writer.width
    rest = " " * (len(lead) - 2) + "| " + " " * (len(text) - len(text.lstrip()) + 4) + row[at:].lstrip()
    return [row[:at].rstrip(), writer.cut(rest)]


def _one_line_of_code(place: SourceLine, writer: Writer) -> list[str]:
    """The place is never cut, the code is."""
    text = "".join(f": {clean(line.strip())}" for _, line in place.around(0))
    head = f"{INDENT}{writer.near(full(place.place))}"
    return [writer.cut(head + text)] if len(head) + LEAST_CODE <= writer.width else [head]


def _facts(case: Case, best: Diagnosis | None, place: SourceLine | None, writer: Writer, room: Room) -> list[str]:
    """Facts that a reader can check, and that are not above; long ones only if there is nothing shorter."""
    if case.flake:
        texts = [f"{one.name}: {one.summary}" for one in flake.heads(case.flake)]
    elif best:
        texts = [one.text for one in best.evidence]
    else:
        chosen = [one for severity in ("error", "warning") for one in case.findings if one.severity == severity]
        told = most_telling(case) if only_read(case) else None
        texts = [_unsaid(one.text, _headline(case)) for one in told.evidence] if told else []
        texts += [f"{one.message} [{_id_and_line(one)}]" for one in chosen if one is not told]
    said = [" ".join(_sentences(_headline(case), writer)), *([f"launched at {place.place} {place.function}"] if place else [])]
    texts = [one for one in texts if not (place and one.startswith(STACK))]
    texts = [text for one in dict.fromkeys(texts) if (text := _new(_without_line(one, said[-1]), said))]
    made = [writer.wrapped(text, f"{INDENT}- ") for text in texts]
    if made and only_read(case):
        made[0] = _shortened(made[0], room.fact_lines, writer)  # the line of the log itself
    short = [lines for lines in made if len(lines) <= room.fact_lines]
    if made and not short:
        short = [made[0] if len(made[0]) <= room.fact_lines + 2 else writer.wrapped(SENTENCE_END.split(texts[0])[0], f"{INDENT}- ")]
    more = len(texts) - room.facts if not best else 0
    tail = [f"{INDENT}- and {more:,} more"] if more > 0 else []
    return [line for lines in short[: room.facts] for line in lines] + tail


def _without_line(text: str, shown: str) -> str:
    """The line of a call is left out of a fact where its code is shown."""
    places = shown.split()
    return MADE_AT.sub(lambda found: "" if any(f"/{one}".endswith(f"/{found[1]}") for one in places) else found[0], text)


def _new(text: str, said: Sequence[str]) -> str:
    """The clauses of a fact that no sentence has; "" where there is none. Code in backquotes is not taken apart."""
    parts = text.split("; ")
    parts = parts if all(one.count("`") % 2 == 0 for one in parts) else [text]
    return "; ".join(part for part in parts if not any(_is_said(part, one) for one in said))


def _is_said(text: str, sentence: str) -> bool:
    """Are all words of the fact in the sentence, in this order?"""
    said = iter(WORD.findall(FOLDERS.sub("", sentence.lower())))
    return all(word in said for word in WORD.findall(FOLDERS.sub("", OF_SIZE.sub("", text).lower())) if word not in FILLING)


def _id_and_line(finding: Finding) -> str:
    """ "row-pitch, app.c:41": no code is shown beside a list of findings."""
    source = finding.site.source if finding.site else None
    line = os.path.basename(source) if source else ""
    return f"{finding.id}, {line}" if line and line not in finding.message else finding.id


def _shortened(lines: list[str], most: int, writer: Writer) -> list[str]:
    return lines if len(lines) <= most else [*lines[: most - 1], writer.cut(f"{lines[most - 1]} ...")]


def _unsaid(text: str, headline: str) -> str:
    """ "line 3 of app.log", without the words of that line where the headline has them already."""
    place, _, quote = text.partition(": ")
    return place if quote and quote.rstrip(".") in headline else text


def _steps(case: Case, best: Diagnosis | None, next_command: str) -> list[str]:
    """What can be done about it, for this API; a cause that is not settled is investigated first."""
    if case.flake:
        own = [one.next_step for one in flake.heads(case.flake)]
        return [one for one in dict.fromkeys([*own, next_step(case)]) if one]
    if best is None and only_read(case):
        return _steps_of_logs(case)
    api = best.guilty.api if best and best.guilty else ""
    foreign = FOREIGN.get(api)
    fixes = [step for step in (best.fix if best else ()) if not (foreign and foreign.search(step))]
    if best and best.guilty and best.guilty.launch is not None:
        fixes = [step for step in fixes if not step.startswith(SEVERAL)]
    settled = best is not None and best.status == "confirmed"
    command = next_command or (_for_kernel_line(case, best) if best and settled else next_step(case))
    fixes = [step for step in fixes if not (command and INVESTIGATE in step)]
    steps = [*(fixes if settled and not command else fixes[:1]), *([command] if command else [])]
    return steps or (_steps_of_logs(case) if only_read(case) else [])


def _steps_of_logs(case: Case) -> list[str]:
    """What would settle the events that were read, the most telling first; without any, the log has to say more."""
    told = most_telling(case)
    if told is None:
        return []
    events = [told, *case.findings]
    steps = dict.fromkeys(one.written.next for one in events if one.written and one.written.next and one.severity != "info")
    line = told.written.line if told.written else 0
    before = f" before line {line:,}" if line > 1 else ""
    more = f"Include more of the log: what the program and the system's own log printed{before}."
    return list(steps) or ([] if case.kernels else [more])


def _program_is(case: Case, kind: re.Pattern[str]) -> bool:
    return bool(case.command) and bool(kind.match(os.path.basename(case.command[0])))


def _has_stack(best: Diagnosis, case: Case) -> bool:
    """Would --stacks show where the call was made? It notes calls that work on memory, and calls that fail."""
    return best.guilty is not None or not case.outcome.passed


def _with_lines(case: Case, best: Diagnosis) -> str:
    """The command that shows the line of a call that a wrapper made, an interpreter or a header of the system, or whose caller is only
    recorded on request; "" where it would not."""
    python = _program_is(case, PYTHON)
    if _program_is(case, OURS):  # a replay: no line of the program is in it
        return ""
    ways, guilty = _ways(case, best), best.guilty
    change = best.root or guilty
    unseen = guilty is not None and guilty.api != "opencl" and guilty.launch is not None and not (change and change.host_stack)
    if ways is None or not (python or (guilty is not None and guilty.source) or unseen):
        return ""
    words = shlex.join(["gpudx", "run", "--stacks", *ways, "--", *_program(case)])
    return f"{words}   # names the {'Python ' if python else ''}line{' (build with -g)' if unseen and not python else ''}"


def _ways(case: Case, best: Diagnosis) -> Sequence[str] | None:
    """The options of one run that shows the same; None where it took more than one."""
    if not case.command:
        return None
    if not case.investigation:
        return case.observations[0].ways.options if len(case.observations) == 1 else ()
    shown = [one.experiment for one in case.observations if best.cause in one.shown]
    return next((SHOWS[one] for one in shown if one in SHOWS), None)


def _frames(best: Diagnosis) -> str:
    """ "in layer_close+0x1f (plugin.so), called from main+0x194 (app)": of the call to change, where no line is known."""
    site = best.root or best.guilty
    known = [one for one in (site.host_stack if site else ()) if not RUNTIME_FRAME.match(one) and OWN_FRAMES not in one]
    return f"in {', called from '.join(known[:2])}" if known else ""


def _needs_debug_info(best: Diagnosis, case: Case) -> bool:
    """Would -g show the line? The caller is recorded, as of each call of OpenCL, and is the program unless that is an interpreter."""
    interpreted = _program_is(case, PYTHON) or _program_is(case, OURS)
    guilty, change = best.guilty, best.root or best.guilty
    recorded = guilty is not None and (guilty.api == "opencl" or (change is not None and bool(change.host_stack)))
    return recorded and guilty is not None and not guilty.source and not interpreted


def _numbered(steps: Sequence[str], writer: Writer) -> Iterator[str]:
    for number, step in enumerate(steps, 1):
        lead = f"{INDENT}{number}. " if len(steps) > 1 else f"{INDENT}- "
        if step.startswith(COMMANDS):
            yield f"{lead}{full(step)}"  # a command stays one line, so that it can be pasted
        else:
            yield from writer.wrapped(step, lead)


DRIVERS = "# shows which GPU drivers are installed"


def next_step(case: Case) -> str:
    """The command that gets further where no cause is settled; "" where there is none."""
    if case.flake:
        again = shlex.join(["gpudx", "flake", "--budget", "20m", "--resume", here(case.directory)])
        return again if case.flake.stopped in UNFINISHED else ""
    if not case.command or only_read(case) or any(one.status == "confirmed" for one in case.diagnosis):
        return ""
    if case.investigation is not None:
        return _after_investigation(case, case.investigation)
    watched = any(one.name == "recorder" and not one.failed for one in case.instruments)
    if not watched or (calls_made(case) and _passed_with_refusals(case)):
        return ""
    if not calls_made(case):
        job = any(one.rank for one in case.processes)  # whose other ranks the screen counts
        return f"gpudx doctor   {DRIVERS}" if case.outcome.failed and not job else ""
    whole = shlex.join(["gpudx", "investigate", "--", *_program(case)])
    by_case = shlex.join(["gpudx", "investigate", here(case.directory)])
    return whole if len(whole) <= LONGEST_COMMAND or not case.directory else min(whole, by_case, key=len)


def _passed_with_refusals(case: Case) -> bool:
    """Is all that a run which passed shows that calls were refused? There is no failure to investigate, and nothing that an instrument
    could decide."""
    serious = [one for one in case.findings if one.severity != "info"]
    refused = [one.site is not None and bool(one.site.status) for one in serious]
    return case.outcome.passed and not case.diagnosis and bool(refused) and all(refused)


def _after_investigation(case: Case, state: Investigation) -> str:
    again = shlex.join(["gpudx", "investigate", *_more_time(state), here(case.directory)])
    if install := to_install(state):
        return f"{install} && {again}"
    if state.stopped in (*UNFINISHED, "the failure did not reproduce"):
        return again
    asked = state.asked
    if state.stopped == "no fault found" and not asked.judges:
        words = shlex.join(["gpudx", "investigate", "--expect", "TEXT", "--", *_program(case)])
        return f"{words}   # TEXT: what a correct run prints; or --check CMD"
    if _best(case) is None and case.outcome.failed and calls_made(case):
        words = shlex.join(["gpudx", "run", "--keep", "all", "--case", "bad", "--", *_program(case)])
        return f"{words}   # then --case good with an input that works, and gpudx diff good bad"
    return ""


def _for_kernel_line(case: Case, best: Diagnosis) -> str:
    """The command that shows the line in the kernel, where a tool that is not installed would have; "" where none would."""
    install = to_install(case.investigation) if case.investigation else ""
    in_kernel = best.guilty is not None and best.guilty.kernel and best.access is not None
    if not install or not in_kernel or (best.access and best.access.source):
        return ""
    return f"{install} && {shlex.join(['gpudx', 'run', '--sanitize', '--', *_program(case)])}   # finds the line in the kernel"


def to_install(state: Investigation) -> str:
    """The command that installs a tool which an investigation of this program lacked; "" where none would have helped."""
    if state.symptom in ("", "settled"):
        return ""
    return next((found[0] for _, why in state.not_run if (found := PIP_INSTALL.search(why))), "")


def _more_time(state: Investigation) -> list[str]:
    if state.stopped == "runs used up":
        return ["--runs", str(2 * len(state.trials))]
    return ["--budget", "10m"] if state.stopped in ("budget used up", "the failure did not reproduce") else []


def _program(case: Case) -> list[str]:
    """The command; a program, and a script, below the working directory as seen from there."""
    first, *rest = case.command
    near = here(first) if os.sep in here(first) or os.sep not in first else f"./{here(first)}"
    if rest and PYTHON.match(os.path.basename(first)):
        rest[0] = here(rest[0])
    return [near, *rest]


PICTURE = "   picture: gpudx report --open"


def _foot(case: Case, writer: Writer) -> list[str]:
    return [*_own_words(case, writer), *writer.dimmed(coverage(case)), *_more(case, writer, PICTURE)]


def _own_words(case: Case, writer: Writer) -> list[str]:
    """Of a program that exits with 0: the line that counts as its failure, and how to say it otherwise."""
    line = case.outcome.complaint
    return writer.wrapped(f'taken as the failure: "{line}"; --check CMD decides by a command instead') if line else []


def _more(case: Case, writer: Writer, picture: str) -> list[str]:
    """The command for the full report, and where the case is."""
    if not case.directory:
        return [f"{INDENT}more: {writer.more}"] if writer.more else []
    place = f"case: {near(case.directory)}"
    more = f"{INDENT}more: gpudx report{picture}"
    whole = f"{more}   {place}"
    return [whole] if cells(whole) <= writer.width else [more, f"{INDENT}{place}"]


def coverage(case: Case, counts: bool = True) -> str:
    """ "1,019 launches, 3 runs in 11.0 s; checked: bounds; unchecked in kernels: races"; without `counts` only what
    is missing and what was checked."""
    if case.flake:
        runs = f"{plural(case.flake.runs, 'run')} in {duration(case.flake.seconds)}"
        return f"{plural(case.flake.tests, 'test')}, {runs}; stopped: {case.flake.stopped}"
    if not case.processes and not case.observations:
        return ""
    launches = _launches(case)
    later = any(one.guilty and (one.guilty.launch or 0) > launches for one in case.diagnosis[:1])
    # Not how many calls: their numbers count the recorder's own notes, too, and may be higher.
    parts = [plural(launches, "launch", "launches") + (" in the plain run" if later else "")] if launches else ["no launches"]
    state = case.investigation
    if state and state.trials:
        parts.append(f"{plural(len(state.trials), 'run')} in {duration(sum(one.seconds for one in state.trials))}")
    if len(case.processes) > 1:
        first = first_rank_to_fail(case.processes)
        parts.append(f"{len(case.processes)} processes" + (f" (rank {first.rank} failed first)" if first else ""))
    dead = [one.name for one in case.instruments if one.failed and one.name != RECORDER]
    failed = [f"{name} did not work" for name in dead] if case.diagnosis else []  # without one, the headline says it
    notes = suppressions(case) if eventful(case) else []  # else the headline says it
    expected = [note[:1].lower() + note[1:].rstrip(".") for note in notes]
    gap = [missing] if (missing := missing_calls(case)) else []
    return "; ".join([*([", ".join(parts)] if counts else []), *gap, *_checked(case, dead), *failed, *expected])


def _launches(case: Case) -> int:
    return sum(one.launches for one in case.processes)


def _checked(case: Case, dead: Sequence[str]) -> Iterator[str]:
    """What instruments that worked looked at inside kernels, and what none did; nothing where no kernel ran."""
    if not _launches(case):
        return
    ran = [one for one in case.observations if one.runs or one.others]
    kinds = {kind for one in ran for kind in (one.experiment, *one.ways.kinds)}
    void = _without_any_check(case)
    working = [kind for kind in CHECKS if kind in kinds and kind not in void and not any(kind in name for name in dead)]
    checked = list(dict.fromkeys([*(what for kind in working for what in CHECKS[kind]), *_inside_kernels(case)]))
    of = "the kernel that hung" if LOOPS in kinds and not checked else _narrowed(case)
    checked = checked or (list(OF_LOOPS) if LOOPS in kinds else [])
    if checked:
        yield f"checked: {', '.join(checked)}" + (f" (only {of})" if of else "")
    if checked and unchecked_images(case):
        inside = "checked" in working or "bounds" in _inside_kernels(case)
        yield "of images, only 2D coordinates were checked" if inside else "images were not checked"
    yield from unchecked_kernels(case)
    left = [one for one in INSIDE_KERNELS if one not in checked]
    if left:
        yield f"unchecked in kernels: {', '.join(left)}"


def unchecked_kernels(case: Case) -> list[str]:
    """The sentences about kernels that were to check themselves and ran as they are, of this run and of an investigation's."""
    trials = case.investigation.trials if case.investigation else ()
    told = [one.blind for one in case.instruments if KERNEL_CHECKS.match(one.name)] + [one.blind for one in trials]
    parts = (part.removeprefix(NOTHING_CHECKED) for text in told for part in text.split("; "))
    return list(dict.fromkeys(part for part in parts if UNCHECKED_KERNELS in part))


def _without_any_check(case: Case) -> set[str]:
    """Experiments in which no kernel could be checked."""
    trials = case.investigation.trials if case.investigation else ()
    void = {one.experiment for one in trials if one.blind.startswith(NOTHING_CHECKED)}
    return void - {one.experiment for one in trials if not one.blind.startswith(NOTHING_CHECKED)}


def _narrowed(case: Case) -> str:
    kernel = next((dict(one.facts)["kernel"] for one in case.findings if one.id == NARROWED), "")
    return f"launches of {kernel}" if kernel else ""


def _inside_kernels(case: Case) -> Iterator[str]:
    """What kernels that check themselves looked at."""
    for tool in case.instruments:
        if tool.state == "live" and (found := KERNEL_CHECKS.match(tool.name)):
            yield from (name for word, name in INSIDE.items() if word in found[1].split(", "))
