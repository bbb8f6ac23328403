"""The text that compute-sanitizer and its predecessor cuda-memcheck print, line by line.

Every line of the tool starts with nine "="; a line with nothing behind them ends a record. The first line of a record
says what happened, the others where, who, and on which host stack. Forms of several releases are read: "at f(int)+0x70
in a.cu:7" and "at 0x70 in a.cu:7:f(int)", "Address 0x4" and "Access to 0x4", "Host Frame:" with the module first or
last.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from gpudx.evidence._head import Source
from gpudx.evidence._lines import lines_of, plain
from gpudx.evidence._sanitizer_records import Dim, HostFrame, Kind, Location, Nearest, Record, host_frame, location
from gpudx.model import Severity

MARK = b"========="
MOST_CACHED = 20_000
MOST_FRAMES = 256
MOST_PROBLEMS = 100

_THREAD = re.compile(r"by thread \((\d+),\s*(\d+),\s*(\d+)\) in block \((\d+),\s*(\d+),\s*(\d+)\)")
_ADDRESS = re.compile(r"(?:Access to|Access at|Address) (0x[0-9a-fA-F]+)(?: is (.+?))?\.?")
_UNINITIALISED = re.compile(r"Uninitialized access (?:at|to) (0x[0-9a-fA-F]+)(.*)")
_NEAREST = re.compile(
    r"and is (?:(?P<far>[\d,]+) bytes (?P<side>before|after)|inside) the nearest allocation at (?P<at>0x[0-9a-fA-F]+)"
    r" of size (?P<size>[\d,]+)(?: bytes?)?"
)
_RACING = re.compile(
    r"(?:(?:Strong|Weak) .*?)?(Write|Read|Atomic)\w*(?:.*?Thread \((\d+),\s*(\d+),\s*(\d+)\))?(?: in Block \([^)]*\))? at (.+)", re.I
)
_AND_ACCESS = re.compile(r"and (?:Write|Read|Atomic)\w* access at (.+?)(?: \[([\d,]+) hazards?\])?")
_DURING = re.compile(r"during (\w+) access to address (0x[0-9a-fA-F]+)")

_SUMMARY = re.compile(r"(?:ERROR|RACECHECK|LEAK|SYNCCHECK|INITCHECK) SUMMARY: (.*)")
_ERRORS = re.compile(r"ERROR SUMMARY: ([\d,]+) errors?(?: (were|was) not printed)?")
_HAZARDS = re.compile(r"RACECHECK SUMMARY: ([\d,]+) hazards?(?: displayed \(([\d,]+) errors?, ([\d,]+) warnings?\))?")
_LEAKS = re.compile(r"LEAK SUMMARY: ([\d,]+) bytes leaked")
FIRST_LINE_MISSING = "an error whose first line is missing from the log"
BANNERS = ("COMPUTE-SANITIZER", "CUDA-MEMCHECK")

Fields = dict[str, Any]
Headline = tuple[re.Pattern[str], Kind | None, Callable[[re.Match[str]], Fields]]


def number(text: str) -> int:
    """ "4,096" -> 4096; absurdly long numbers are cut."""
    return int(text.replace(",", "")[:30] or 0)


def _space(text: str | None) -> str | None:
    return text.strip("_ ").lower() if text else None


def _access(match: re.Match[str]) -> Fields:
    verb = match["verb"].lower()
    kind: Kind = "invalid-write" if "write" in verb else "invalid-read" if "read" in verb else "invalid-access"
    kind = "invalid-atomic" if "atomic" in verb else kind
    return {"kind": kind, "size": number(match["size"]) if match["size"] else None, "space": _space(match["space"])}


def _sized(match: re.Match[str]) -> Fields:
    return {"size": number(match["size"]), "space": _space(match["space"])}


def _api(match: re.Match[str]) -> Fields:
    code = match["code"] or match["bare"]
    return {"error": match["name"] or None, "code": number(code) if code else None, "api": (match["api"] or "").rstrip(".") or None}


def _severity(text: str) -> Severity:
    word = text.lower()
    return "warning" if word.startswith("warn") else "info" if word.startswith("info") else "error"


def _race(match: re.Match[str]) -> Fields:
    return {"severity": _severity(match["level"]), "where": location(match["at"]), "space": "shared"}


def _hazard(match: re.Match[str]) -> Fields:
    return {
        "severity": _severity(match["level"]),
        "reason": match["type"],
        "space": _space(match["space"]) or "global",
        "address": int(match["address"], 16),
        "block": _dims(match, "x", "y", "z") if match["x"] else None,
    }


def _leak(match: re.Match[str]) -> Fields:
    size = {"size": number(match["size"])} if match["size"] else {}
    reason = {"reason": match["what"]} if match["what"] else {}
    return {**size, **reason, "address": int(match["address"], 16), "space": "global", "severity": "warning"}


def _host_access(match: re.Match[str]) -> Fields:
    return {"size": number(match["size"]) if match["size"] else None, "space": "global"}


def _unused(match: re.Match[str]) -> Fields:
    address = int(match["address"], 16) if match["address"] else None
    return {"size": number(match["size"]), "address": address, "severity": "info", "space": _space(match["space"])}


def _deadlock(match: re.Match[str]) -> Fields:
    thread, block = _dims(match, "a", "b", "c"), _dims(match, "x", "y", "z")
    return {"where": location(match["at"] or ""), "thread": thread, "block": block}


def _nothing(match: re.Match[str]) -> Fields:
    return {}


def _dims(match: re.Match[str], *names: str) -> Dim:
    x, y, z = (number(match[name]) for name in names)
    return x, y, z


_SPACE = r"(?P<space>__\w+__ )?"
_XYZ = r"\((?P<x>\d+),\s*(?P<y>\d+),\s*(?P<z>\d+)\)"
HEADLINES: tuple[Headline, ...] = (
    (
        re.compile(
            rf"Invalid (?:address space for )?{_SPACE}(?P<verb>[\w ]+?)(?: of size (?P<size>[\d,]+)(?: bytes?)?| access)(?: is .+|:.+)?"
        ),
        None,
        _access,
    ),
    (re.compile(rf"Potential invalid {_SPACE}(?P<verb>\w+) of size (?P<size>[\d,]+).*"), "cluster-race", _sized),
    (re.compile(rf"Uninitialized {_SPACE}memory read of size (?P<size>[\d,]+).*"), "uninitialised-read", _sized),
    (
        re.compile(
            r"Program hit (?:error (?P<bare>\d+)|(?P<name>.+?)(?: \(error (?P<code>\d+)\))?)"
            r"(?: due to .*?)? on CUDA API call(?: to (?P<api>[\w.]+)|\.?)"  # in XML without quotes
        ),
        "api-error",
        _api,
    ),
    (re.compile(r"(?P<level>\w+):\s*Race reported between \w+ access at (?P<at>.+)"), "race", _race),
    (
        re.compile(
            rf"(?P<level>\w+):\s*(?:\([^)]*\)\s*)?Potential (?P<type>\w+) hazard detected at (?:(?P<space>__\w+__)"
            rf"|(?:global )?address) (?P<address>0x[0-9a-fA-F]+)(?: \(block rank \d+\))?(?: in block {_XYZ}| \(|:).*"
        ),
        "race",
        _hazard,
    ),
    (
        re.compile(
            r"(?:Barrier|Warpgroup MMA sequence|.*\(?invalid (?:async operation|memcpy_async) synchronization\)?) error detected.*", re.I
        ),
        "barrier",
        _nothing,
    ),
    (
        re.compile(
            r"Leaked (?:(?P<size>[\d,]+) bytes|an? (?P<what>\w+)) (?:at|from \w+ \w+|with handle) (?P<address>0x[0-9a-fA-F]+).*"
        ),
        "leak",
        _leak,
    ),
    (re.compile(r"Host API .*access(?:.*? of size (?P<size>[\d,]+))?.*"), "uninitialised-copy", _host_access),
    (
        re.compile(
            r"Address 0x[0-9a-fA-F]+ is potentially .+|(?:Stream-ordered race|Potential (?:use|free)-).*"
            r"|.*\b(?:use|free)-(?:before|after)-\w+ .*race.*",
            re.I,
        ),
        "lifetime-race",
        _nothing,
    ),
    (
        re.compile(rf"Unused {_SPACE}memory in allocation (?P<address>0x[0-9a-fA-F]+)?\s*of size (?P<size>[\d,]+).*"),
        "unused-memory",
        _unused,
    ),
    (re.compile(r"Malloc/Free error encountered.*"), "device-heap", _nothing),
    (re.compile(r"Fatal UVM .*"), "unified-memory-fault", _nothing),
    (re.compile(r"Trace/breakpoint trap.*"), "trap", _nothing),
    (
        re.compile(
            r"Deadlock detected .*?threads starting at \((?P<a>\d+),\s*(?P<b>\d+),\s*(?P<c>\d+)\) in block "
            rf"{_XYZ}.*?(?: at (?P<at>\S.*))?"
        ),
        "deadlock",
        _deadlock,
    ),
)  # fmt: skip
# What the tool says about itself, and whether its result can still be believed.
FATAL = (
    "Target application terminated before first", "No attachable process", "Unable to find", "No CUDA-MEMCHECK results",
    "Unable to launch", "Unable to attach", "Error: Unable", "No CUDA-capable", "Error: No supported GPU",
    "Device not supported", "Insufficient permissions", "Failed to", "unsupported driver version", "debugging features are disabled",
    "anitizer will be disabled", "Sanitizer is unable", "Could not connect to target", "Missing executable",
    "Target application doesn't exist",
)  # fmt: skip
DOUBTFUL = (
    "Internal Sanitizer", "Internal error", "Errors might go undetected", "overflow of tracked", "timed-out", "hardware exception",
    "were skipped", "not supported by the selected tool", "Maximum number of hazards", "Not all records were printed",
    "possible deadlock in",
)  # fmt: skip
TARGET = ("Target application returned an error", "Error: process didn't terminate", "process didn't terminate")
ADVICE = ("Tracking kernels launched", "Default timeout", "The application may have hit", "Saved ", "Awaiting")


class Draft:
    """A record in the making."""

    def __init__(self, kind: Kind, text: str, fields: Fields) -> None:
        self.kind, self.text, self.fields = kind, text, fields
        self.host: list[HostFrame] = []
        self.device: list[str] = []
        self.notes: list[str] = []
        self.sure = kind != "hardware-exception"

    def record(self) -> Record:
        kind, fields = self.kind, self.fields
        if "misaligned" in (fields.get("reason") or ""):
            kind = "misaligned-access"
        elif "potentially" in (fields.get("reason") or "") and kind != "cluster-race":
            kind = "lifetime-race"
        stacks: Fields = {"host": tuple(self.host), "device": tuple(self.device), "notes": tuple(self.notes)}
        return Record(kind=kind, text=self.text, **stacks, **fields)


class Totals:
    """What the report says about itself."""

    def __init__(self) -> None:
        self.banner = False
        self.summaries: list[str] = []
        self.errors: int | None = None
        self.not_printed = 0
        self.leaked: int | None = None
        self.hazards = False
        self.problems: list[str] = []
        self.fatal = False
        self.doubtful = False

    def summary(self, text: str) -> None:
        if len(self.summaries) < MOST_PROBLEMS:
            self.summaries.append(text)
        if match := _ERRORS.match(text):
            if match[2]:
                self.not_printed += number(match[1])
            else:
                self.errors = (self.errors or 0) + number(match[1])
        elif match := _HAZARDS.match(text):
            self.hazards, counted = True, match[2] and number(match[2]) + number(match[3])
            self.errors = (self.errors or 0) + (counted or number(match[1]))
        elif match := _LEAKS.match(text):
            self.leaked = (self.leaked or 0) + number(match[1])

    def problem(self, text: str) -> None:
        self.fatal |= any(mark in text for mark in FATAL)
        self.doubtful |= any(mark in text for mark in DOUBTFUL)
        if len(self.problems) < MOST_PROBLEMS and text not in self.problems:
            self.problems.append(text)


class Parser:
    """Feed it lines; it yields records. `totals` grows on the way."""

    def __init__(self) -> None:
        self.totals = Totals()
        self.draft: Draft | None = None
        self.about_itself = False  # the last line: what the tool says of itself, not of the program
        self._locations: dict[str, Location] = {}
        self._frames: dict[str, HostFrame] = {}
        self._details: dict[str, Callable[[Draft, str], bool]] = {
            "Host": self._host,
            "at": self._at,
            "by": self._by,
            "Access": self._address,
            "Address": self._address,
            "and": self._and,
            "Saved": self._saved,
            "Device": self._device,
            "in": self._in,
            "Write": self._racing,
            "Read": self._racing,
            "Atomic": self._racing,
            "Strong": self._racing,
            "Weak": self._racing,
            "Current": self._ignored,
            "Uninitialized": self._uninitialised,
            "Not": self._note,
            "during": self._during,
            "These": self._note,
            "Sync": self._note,
        }

    def records(self, source: Source) -> Iterator[Record]:
        for line in lines_of(source):
            at = line.find(MARK)
            if at >= 0:
                yield from self.line(plain(line[at + len(MARK) :]))
        yield from self._finish()

    def line(self, text: str) -> Iterator[Record]:
        """One line of the tool, without its mark."""
        body = text.strip().lstrip("=").strip()
        self.about_itself = False
        if not body:
            yield from self._finish()
            return
        draft = self.draft
        if draft is None and body.startswith(("at ", "by thread ")):
            draft = self.draft = Draft("hardware-exception", FIRST_LINE_MISSING, {})
        if draft is not None:
            detail = self._details.get(body.split(" ", 1)[0].split(":", 1)[0])
            if detail and detail(draft, body):
                return
        yield from self._top(body, indented=text.startswith("    "))

    def _top(self, body: str, indented: bool) -> Iterator[Record]:
        """A line that belongs to no record, or begins one."""
        fresh = self._headline(body)
        if fresh is None and indented and self.draft is not None:
            self._note(self.draft, body)
            return
        yield from self._finish()
        if fresh is not None:
            self.draft = fresh
        elif body in BANNERS:
            self.totals.banner = True
        elif _SUMMARY.match(body):
            self.totals.summary(body)
        else:
            self._unknown(body)

    def _headline(self, body: str) -> Draft | None:
        for pattern, kind, fields in HEADLINES:
            if match := pattern.fullmatch(body):
                given = fields(match)
                return Draft(given.pop("kind", kind), body, given)
        return None

    def _unknown(self, body: str) -> None:
        """Hardware exceptions have many first lines; one is known by the "at" or "by thread" line that follows."""
        said = body.startswith(("Error:", "Warning:", "Info", *TARGET, *ADVICE))
        if said or any(mark in body for mark in FATAL + DOUBTFUL):
            self.totals.problem(body)
            self.about_itself = not body.startswith(TARGET)
        else:
            self.draft = Draft("hardware-exception", body, {})

    def _finish(self) -> Iterator[Record]:
        draft, self.draft = self.draft, None
        if draft is None:
            return
        if draft.sure:
            yield draft.record()
        else:
            self.totals.problem(draft.text)

    # -- the lines of a record; False: not one after all

    def _at(self, draft: Draft, body: str) -> bool:
        draft.fields["where"], draft.sure = self._location(body[3:]), True
        return True

    def _location(self, text: str) -> Location:
        if text not in self._locations:
            if len(self._locations) >= MOST_CACHED:
                self._locations.clear()
            self._locations[text] = location(text)
        return self._locations[text]

    def _by(self, draft: Draft, body: str) -> bool:
        match = _THREAD.match(body)
        if match:
            x, y, z, bx, by, bz = (number(n) for n in match.groups())
            draft.fields["thread"], draft.fields["block"], draft.sure = (x, y, z), (bx, by, bz), True
        return bool(match)

    def _address(self, draft: Draft, body: str) -> bool:
        match = _ADDRESS.fullmatch(body)
        if match:
            draft.fields["address"] = int(match[1], 16)
            if match[2]:
                draft.fields["reason"] = match[2]
        return bool(match)

    def _and(self, draft: Draft, body: str) -> bool:
        if match := _NEAREST.match(body):
            far, size = number(match["far"] or "0"), number(match["size"])
            draft.fields["nearest"] = Nearest(match["side"] or "inside", far, int(match["at"], 16), size)  # type: ignore[arg-type]
            return True
        match = _AND_ACCESS.fullmatch(body)
        if match and draft.kind == "race":
            draft.fields.setdefault("other", self._location(match[1]))
            draft.fields["hazards"] = draft.fields.get("hazards", 0) + number(match[2] or "1")
        return bool(match)

    def _racing(self, draft: Draft, body: str) -> bool:
        match = _RACING.fullmatch(body)
        if not match or draft.kind != "race":
            return False
        where = self._location(match[5])
        if "where" not in draft.fields:
            draft.fields["where"] = where
            if match[2]:
                draft.fields["thread"] = (number(match[2]), number(match[3]), number(match[4]))
        else:
            draft.fields.setdefault("other", where)
        return True

    def _uninitialised(self, draft: Draft, body: str) -> bool:
        match = _UNINITIALISED.fullmatch(body)
        if match:
            draft.fields["address"], draft.fields["reason"] = int(match[1], 16), match[2].strip(" .") or None
        return bool(match)

    def _during(self, draft: Draft, body: str) -> bool:
        match = _DURING.match(body)
        if match:
            draft.fields["address"], draft.fields["reason"] = int(match[2], 16), match[1]
        return bool(match)

    def _saved(self, draft: Draft, body: str) -> bool:
        draft.fields["host_at"] = body.rpartition(" at ")[2] if " at " in body else None
        return True

    def _host(self, draft: Draft, body: str) -> bool:
        if not body.startswith("Host Frame:"):
            return False
        text = body[11:]
        frame = self._frames.get(text)
        if frame is None:
            if len(self._frames) >= MOST_CACHED:
                self._frames.clear()
            frame = self._frames[text] = host_frame(text)
        if len(draft.host) < MOST_FRAMES:
            draft.host.append(frame)
        return True

    def _in(self, draft: Draft, body: str) -> bool:
        """The module of the frame before, on a line of its own."""
        if draft.host and not draft.host[-1].module:
            last = draft.host[-1]
            draft.host[-1] = HostFrame(last.function, body[3:].strip(), last.offset, last.source)
        return True

    def _device(self, draft: Draft, body: str) -> bool:
        if not body.startswith("Device Frame:"):
            return False
        if len(draft.device) < MOST_FRAMES:
            draft.device.append(body[13:].strip())
        return True

    def _note(self, draft: Draft, body: str) -> bool:
        if len(draft.notes) < MOST_FRAMES:
            draft.notes.append(body)
        return True

    def _ignored(self, draft: Draft, body: str) -> bool:
        return True
