"""compute-sanitizer and cuda-memcheck in a log: records behind nine "=", among any other text.

Read by the parser of the tool's reports (`gpudx.evidence.compute_sanitizer`): thousands of records become one finding for each
site, known false alarms are marked, and a report without a summary is never clean.

What `--save FILE --xml` writes is read as well. That was checked against a real file of memcheck (CUDA 13.0, an H200) and against the
record of a failed call in the tool's documentation; records of the other tools are read by their text, and were not seen in XML.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from gpudx.evidence._sanitizer_groups import Groups, key_of
from gpudx.evidence._sanitizer_records import Record, Report
from gpudx.evidence._sanitizer_text import MARK, Parser, Totals
from gpudx.evidence.compute_sanitizer import report_of, to_findings
from gpudx.evidence.logs import _next
from gpudx.evidence.logs._event import Event
from gpudx.evidence.logs._near import Near
from gpudx.evidence.logs._sticky import CODES, sticky
from gpudx.model import Evidence, Finding

FORMAT = "compute-sanitizer"
MARKS = (MARK.decode(), "Invalid __", "Uninitialized __")
DETAILS = ("at ", "by thread ", "Address ", "Access ", "and is ", "Device Frame", "Host Frame", "Saved host")
MOST_DETAILS = 12
MOST_READ = 200_000  # its lines are quick to read, and their sites many
CAUSES = {
    "invalid-read": "out-of-bounds-access", "invalid-write": "out-of-bounds-access", "invalid-atomic": "out-of-bounds-access",
    "invalid-access": "out-of-bounds-access", "misaligned-access": "misaligned-access", "race": "race-in-kernel",
    "cluster-race": "race-in-kernel", "uninitialised-read": "read-before-write", "uninitialised-copy": "read-before-write",
    "barrier": "barrier-misuse", "hardware-exception": "device-exception", "trap": "device-trap", "api-error": "failed-call",
    "deadlock": "barrier-misuse", "unified-memory-fault": "device-exception", "lifetime-race": "unordered-access",
}  # fmt: skip
# The tool that finds it again.
NEXT = {
    "race": _next.RACES, "cluster-race": _next.RACES, "lifetime-race": _next.RACES, "barrier": _next.BARRIERS,
    "deadlock": _next.BARRIERS, "uninitialised-read": _next.UNINITIALIZED, "uninitialised-copy": _next.UNINITIALIZED,
}  # fmt: skip
# Exceptions of the hardware, by words of their first line.
EXCEPTIONS = (
    ("misaligned", "misaligned-access"), ("stack overflow", "device-stack-overflow"), ("assert", "device-assertion"),
    ("address", "out-of-bounds-access"),
)  # fmt: skip
_OWN = re.compile(r"={9} ")
_HEADLINE = re.compile(r"address|instruction|exception|overflow|illegal|misaligned", re.IGNORECASE)
LONGEST_HEADLINE = 100
HOST = ("api-error", "leak", "unused-memory")


def reader() -> InLog:
    return InLog()


class InLog:
    """Feeds the tool's lines to its parser, and remembers where each site was first told."""

    def __init__(self) -> None:
        self._parser, self._groups = Parser(), Groups()
        self._began, self._first = 0, 0
        self._lines: dict[tuple[object, ...], int] = {}

    def read(self, near: Near) -> Iterator[Event]:
        self._first = self._first or near.line
        _, marked, text = near.text.partition(MARK.decode())
        if marked:
            self._lost_headline(text, near)
            self._line(text, near.line)
        elif near.text.lstrip().startswith(MARKS[1:]):
            self._unmarked(near)
        yield from ()

    def takes(self, near: Near) -> bool:
        """Its own lines are not read by others: an error that it quotes is told by its record."""
        parser = self._parser
        return bool(_OWN.match(near.text)) and (parser.draft is not None or (parser.totals.banner and parser.about_itself))

    def _line(self, text: str, line: int) -> None:
        draft = self._parser.draft
        for record in self._parser.line(text):
            self._add(record)
        if self._parser.draft is not draft:
            self._began = line

    def _lost_headline(self, text: str, near: Near) -> None:
        """The first line of a record often loses its mark where people begin to copy."""
        if self._parser.draft is not None or not text.strip().startswith(("at ", "by thread ")):
            return
        above = next(iter(near.before(1)), "").strip()
        if len(above) <= LONGEST_HEADLINE and _HEADLINE.search(above) and MARK.decode() not in above:
            self._line(above, near.line - 1)

    def _unmarked(self, near: Near) -> None:
        """A record whose marks were lost when it was pasted: its lines are known by how they begin."""
        self._line("", near.line)
        self._line(near.text.strip(), near.line)
        if MARK.decode() in next(iter(near.after(1)), ""):
            return  # only the first line lost its mark
        for text in near.after(MOST_DETAILS):
            if not text.strip().startswith(DETAILS):
                break
            self._line(f"    {text.strip()}", near.line)
        self._line("", near.line)

    def _add(self, record: Record) -> None:
        self._groups.add(record)
        self._lines.setdefault(key_of(record), self._began)

    def finish(self) -> Iterator[Event]:
        for record in self._parser.line(""):
            self._add(record)
        if not self._first or not (self._groups.records or _ran(self._parser.totals)):
            return  # a line of "=" is not the tool
        yield from events(report_of(self._parser, self._groups), self._first, self._lines)


def _ran(totals: Totals) -> bool:
    """Does anything show that the lines are the tool's, and not any text behind a row of "="?"""
    return totals.banner or totals.fatal or bool(totals.summaries)


def events(report: Report, first: int = 0, lines: Mapping[tuple[object, ...], int] | None = None) -> Iterator[Event]:
    """What a report tells; `lines` are those at which each site was first told, `first` is that of the report."""
    if report.status == "clean":
        yield _clean(report, first)
    findings = to_findings(report)
    told = len(findings) - len(report.faults)
    for finding in findings[:told]:
        yield _event(finding, finding.id, first)
    for finding, fault in zip(findings[told:], report.faults, strict=True):
        line = (lines or {}).get(key_of(fault.first), first)
        yield _event(finding, fault.kind, line, fault.first.text, fault.first)


def _clean(report: Report, line: int) -> Event:
    """The tool ran to its end and says that there was nothing: evidence, and no fault."""
    tool = f" ({report.tool})" if report.tool else ""
    said = f"compute-sanitizer{tool} ran to its end and counted no error."
    seen = Evidence("; ".join(report.summaries))
    return _event(
        Finding("sanitizer-clean", "info", said, (seen,), facts=(("tool", report.tool or ""),)), "sanitizer-clean", line
    )


def _event(finding: Finding, kind: str, line: int, text: str = "", record: Record | None = None) -> Event:
    late = record is not None and kind == "api-error" and (record.code in CODES or sticky(str(record.error)))
    if late and record is not None:
        finding = _reported(finding, record)
    return Event(
        kind=kind,
        role="ending" if finding.severity == "info" else "report" if late else "refusal" if kind in HOST else "fault",
        message=finding.message,
        causes=("device-error-reported",) if late else _causes(kind, text, record),
        sure=not late,
        noticed=(record.api or "") if late and record else "",
        next=NEXT.get(kind, _next.SANITIZE),
        warning=finding.severity == "warning",
        finding=finding,
        line=line,
        quote=text or finding.evidence[0].text,
        format=FORMAT,
    )


def _causes(kind: str, text: str, record: Record | None) -> tuple[str, ...]:
    """What the record shows, then what other tools may call it."""
    exceptions = EXCEPTIONS if kind == "hardware-exception" else ()
    cause = next((cause for word, cause in exceptions if word in text.lower()), CAUSES.get(kind, ""))
    null = record is not None and record.near_null and cause == "out-of-bounds-access"
    return ("null-pointer", cause) if null else (cause,) if cause else ()


def _reported(finding: Finding, record: Record) -> Finding:
    """An error that a kernel left behind: the call that returned it is only the first that noticed."""
    name = record.error or f"error {record.code}"
    said = (
        f"A kernel failed before {record.api or 'a call'} returned {name}; the log shows where this "
        f"was noticed, not which launch caused it."
    )
    return replace(finding, message=said)
