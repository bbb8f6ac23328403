"""compute-sanitizer, and cuda-memcheck before it: memcheck, leak check, racecheck, initcheck, synccheck; text and XML.

The tool prints one record per thread that failed; here they become one fault per site (kernel, kind, source line or
instruction) with counts and ranges. A report without the tool's own summary is never clean: `Report.status` is then
"did not run" or "cut off". Records that are known to be false alarms keep their place and say why (`Fault.doubt`), and
API errors that only repeat an earlier failure are marked (`Fault.follows`).

Reading is a stream: a report of any size costs the memory of its sites. Formats are those of the tool's documentation
and of real output from CUDA 10 to 13; a first line that is not known becomes a "hardware-exception" when the next lines
say where and who, and otherwise a remark of the tool about itself. Not told apart: the reports of several processes in
one text, whose summaries are added up.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Literal

from gpudx.evidence._head import Source, head_of
from gpudx.evidence._sanitizer_groups import Groups
from gpudx.evidence._sanitizer_records import (
    Box,
    Fault,
    HostFrame,
    Location,
    Nearest,
    Range,
    Record,
    Report,
    Status,
    location,
)
from gpudx.evidence._sanitizer_text import Parser, Totals
from gpudx.evidence._sanitizer_xml import ROOT, XmlParser
from gpudx.evidence._words import bare, sourced
from gpudx.model import Access, Evidence, Finding, Severity
from gpudx.text import plural
from gpudx.text.places import first_own

__all__ = [
    "Box",
    "Fault",
    "HostFrame",
    "Location",
    "Nearest",
    "Range",
    "Record",
    "Report",
    "bare",
    "location",
    "parse",
    "read",
    "records",
    "report_of",
    "to_findings",
]

MOST_SHOWN = 6  # host frames in a finding
NEAR = 1 << 20  # bytes; an allocation that is farther away says nothing about the access
TOOLS = {
    "race": "racecheck", "cluster-race": "racecheck", "uninitialised-read": "initcheck", "unused-memory": "initcheck",
    "uninitialised-copy": "initcheck", "barrier": "synccheck", "invalid-read": "memcheck", "invalid-write": "memcheck",
    "invalid-atomic": "memcheck", "invalid-access": "memcheck", "misaligned-access": "memcheck", "leak": "memcheck",
    "device-heap": "memcheck", "lifetime-race": "memcheck",
}  # fmt: skip
KINDS: dict[str, Literal["read", "write"]] = {
    "invalid-read": "read", "invalid-write": "write", "invalid-atomic": "write", "uninitialised-read": "read",
}  # fmt: skip
TITLES = {
    "invalid-read": "reads", "invalid-write": "writes", "invalid-atomic": "updates atomically",
    "invalid-access": "accesses", "misaligned-access": "accesses",
}  # fmt: skip


def read(path: Path | str) -> Report:
    """The report in a file. Raises UserError when it cannot be read."""
    return parse(Path(path))


def parse(source: Source) -> Report:
    """The report in a text or file; text and XML are told apart by their beginning."""
    groups = Groups()
    reader = _reader(source)
    for record in reader.records(source):
        groups.add(record)
    return report_of(reader, groups)


def report_of(reader: Parser | XmlParser, groups: Groups) -> Report:
    """What a reader and the groups of its records come to."""
    totals = reader.totals
    if groups.left_out:
        totals.problem(f"{plural(groups.left_out, 'record')} of further sites were left out")
    faults = groups.faults()
    return Report(
        status=_status(reader, faults),
        tool=_tool(totals, faults),
        faults=faults,
        records=groups.records,
        errors=totals.errors,
        not_printed=totals.not_printed,
        leaked=totals.leaked,
        problems=tuple(totals.problems),
        summaries=tuple(totals.summaries),
    )


def records(source: Source) -> Iterator[Record]:
    """Every record as it was printed, one by one."""
    return _reader(source).records(source)


def _reader(source: Source) -> Parser | XmlParser:
    head = head_of(source, 4096).lstrip(b"\xef\xbb\xbf \r\n\t")
    return XmlParser() if head.startswith((b"<?xml", f"<{ROOT}".encode())) else Parser()


def _status(reader: Parser | XmlParser, faults: tuple[Fault, ...]) -> Status:
    totals = reader.totals
    ended = reader.closed if isinstance(reader, XmlParser) else totals.errors is not None
    if faults or totals.errors:
        return "errors" if ended else "cut off"
    if not ended:
        return "cut off" if totals.leaked is not None else "did not run"
    if totals.fatal:
        return "did not run"
    return "incomplete" if totals.doubtful else "clean"


def _tool(totals: Totals, faults: tuple[Fault, ...]) -> str | None:
    if totals.hazards:
        return "racecheck"
    found = {TOOLS[f.kind] for f in faults if f.kind in TOOLS}
    return found.pop() if len(found) == 1 else "memcheck" if totals.leaked is not None else None


# -- findings


def to_findings(report: Report, raw: str | None = None) -> tuple[Finding, ...]:
    """One finding per fault, and one when the tool did not run or did not finish. `raw` names the report's file."""
    return sourced((*_about_tool(report), *(_finding(report, fault) for fault in report.faults)), raw)


def _about_tool(report: Report) -> Iterator[Finding]:
    if report.status == "clean" or (report.status == "errors" and report.faults):
        return
    message = {
        "errors": f"compute-sanitizer counted {plural(report.errors or 0, 'error')} and printed none of them.",
        "did not run": "compute-sanitizer did not run: it printed no summary, so that nothing was checked."
        if report.errors is None
        else "compute-sanitizer did not check the program: the count in its summary does not show that there is no error.",
        "cut off": "The compute-sanitizer report stops before its summary: there may have been more errors.",
        "incomplete": "compute-sanitizer found nothing, but reports that it could not check everything.",
    }[report.status]
    said = tuple(Evidence(f"the tool reports: {text}") for text in report.problems)
    none = "the report has no ERROR SUMMARY or RACECHECK SUMMARY line"
    seen = Evidence(none if report.errors is None else "; ".join(report.summaries))
    yield Finding(
        id=f"sanitizer-{report.status.replace(' ', '-')}",
        severity="error" if report.status == "errors" else "warning",
        message=message,
        evidence=(seen, *said),
        facts=(("status", report.status),),
    )


def _finding(report: Report, fault: Fault) -> Finding:
    return Finding(
        id=f"sanitizer-{fault.kind}",
        severity=_severity(fault),
        message=_message(fault),
        count=fault.count,
        evidence=tuple(Evidence(text) for text in _sentences(report, fault)),
        facts=tuple(_facts(fault)),
        access=access_of(fault),
    )


def access_of(fault: Fault) -> Access | None:
    """The first access of a fault; None for what is no access of a kernel."""
    first = fault.first
    if not first.where.function and first.address is None:
        return None
    return Access(
        address=first.address,
        kind=KINDS.get(fault.kind, ""),
        by="kernel" if first.where.function else "",
        kernel=first.where.function or "",
        width=first.size,
        block=first.block,
        thread=first.thread,
        pc=first.where.pc,
        source=first_own(line for line in (first.where.source, *(location(one).source for one in first.device)) if line),
        space=first.space or "",
        exception=first.text,
        seen_by=TOOLS.get(fault.kind, "compute-sanitizer"),
    )


def _severity(fault: Fault) -> Severity:
    if fault.follows:
        return "info"
    return "warning" if fault.doubt and fault.first.severity == "error" else fault.first.severity


def _facts(fault: Fault) -> Iterator[tuple[str, str]]:
    """What stays the same between runs: no addresses, no threads."""
    first = fault.first
    where = first.where.source or (f"{first.where.pc:#x}" if first.where.pc is not None else None)
    found = {
        "kernel": bare(first.where.function or ""),
        "where": where,
        "space": first.space,
        "api": first.api,
        "error": first.error,
        "code": None if first.code is None else str(first.code),
        "reason": first.reason,
        "host": str(first.host[-1].function) if first.host and not first.where.function else None,
        "level": _severity(fault) if _severity(fault) != "error" else None,  # a false alarm hides no error at its site
    }
    yield from ((name, value) for name, value in found.items() if value)


def _message(fault: Fault) -> str:
    first = fault.first
    if fault.kind == "api-error":
        name = first.error or f"error {first.code}"
        call = first.api or "A call"
        return f"{call} repeats {name}, an earlier failure." if fault.follows else f"{call} returned {name}."
    if fault.kind == "uninitialised-copy":
        size = f" of {plural(first.size, 'byte')}" if first.size else ""
        return f"A copy{size} reads device memory that was never written."
    if fault.kind == "leak" and not fault.bytes:
        return f"{plural(fault.count, first.reason or 'object')} {'was' if fault.count == 1 else 'were'} never released."
    if fault.kind == "leak":
        return f"{plural(fault.bytes, 'byte')} in {plural(fault.count, 'allocation')} were never released."
    where = f" at {first.where.source}" if first.where.source else ""
    kernel, space = _kernel(first), first.space
    if fault.kind in TITLES and first.size:
        return f"{kernel} {TITLES[fault.kind]} {plural(first.size, 'byte')} of {space or 'device'} memory {_how(fault)}{where}."
    if fault.kind in TITLES:
        return f"{kernel} {TITLES[fault.kind]} from {space or 'device'} memory {_how(fault)}{where}."
    if fault.kind == "race":
        places = " and ".join(_place(place) for place in (first.where, first.other) if place and place != Location())
        where = f" {'between' if first.other else 'at'} {places}" if places else ""
        return f"{kernel} has a race in {space or 'shared'} memory{where}."
    if fault.kind == "unused-memory":
        return f"An allocation of {plural(first.size or 0, 'byte')} has memory that nothing wrote."
    said = first.text.rstrip(". ").replace(". ", ": ")
    if fault.kind == "uninitialised-read":
        size = plural(first.size or 0, "byte")
        return f"{kernel} reads {size} of uninitialized {space or 'device'} memory{where}."
    deeds = {
        "barrier": f"uses a barrier wrongly ({said})",
        "deadlock": f"is stuck at a barrier ({said})",
        "device-heap": f"uses the device's heap wrongly ({said})",
        "unified-memory-fault": f"faulted on managed memory ({said})",
        "trap": "executes a trap instruction",
        "lifetime-race": f"may use memory before it is allocated, or after it is freed, on another stream ({said})",
        "hardware-exception": f"raises an exception ({said})",
    }
    if fault.kind in deeds:
        return f"{kernel} {deeds[fault.kind]}{where}."
    return f"{kernel}: {said}{where}."


def deed(fault: Fault) -> str:
    """ "writes 4 bytes"."""
    size = f" {plural(fault.first.size, 'byte')}" if fault.first.size else ""
    return f"{TITLES.get(fault.kind, 'reads')}{size}"


def _kernel(record: Record) -> str:
    return bare(record.where.function) if record.where.function else "A kernel"


def _place(place: Location) -> str:
    offset = f"+{place.pc:#x}" if place.pc is not None else ""
    return f"{bare(place.function or '?')}{offset}" + (f" ({place.source})" if place.source else "")


def _how(fault: Fault) -> str:
    if fault.kind == "misaligned-access":
        return "at an address that is not a multiple of that size"
    nearest, past, reason = fault.first.nearest, fault.first.past_end, fault.first.reason
    if fault.first.near_null:
        return f"at address {fault.first.address:#x} (null plus {plural(fault.first.address or 0, 'byte')})"
    if nearest and past is not None and 0 <= past < nearest.size + NEAR:
        away = plural(past, "byte") if past else "right"
        return f"{away} past the end of an allocation of {plural(nearest.size, 'byte')}"
    if nearest and nearest.side == "before" and nearest.distance < NEAR:
        return f"{plural(nearest.distance, 'byte')} before an allocation of {plural(nearest.size, 'byte')}"
    return "out of bounds" if reason is None or "bound" in reason else f"that is {reason}"


def _callers(frames: Sequence[str]) -> Iterator[str]:
    """A function that calls itself is one line."""
    runs = [(frame, len(list(same))) for frame, same in groupby(frames)]
    yield from (f"called from {frame}" + (f", {count:,} times" if count > 1 else "") for frame, count in runs[:MOST_SHOWN])


def _counted(name: str, values: Box | Range, names: str = "") -> str:
    """ "thread (0,0,0)", "threads (0,0,0) to (31,0,0)"."""
    return f"{name if values.low == values.high else names or f'{name}s'} {values}"


def _sentences(report: Report, fault: Fault) -> Iterator[str]:
    first = fault.first
    yield f"compute-sanitizer printed {plural(fault.count, 'record')}: {first.text}"
    if first.where != Location():
        yield f"at {first.where}" + (f", racing with {first.other}" if first.other else "")
    if fault.threads and fault.blocks:
        threads, blocks = _counted("thread", fault.threads), _counted("block", fault.blocks)
        yield f"{threads} of {blocks}"
    if fault.addresses:
        yield _counted("address", fault.addresses, "addresses") + (f", {first.reason}" if first.reason else "")
    if first.nearest:
        yield f"{'the first' if fault.count > 1 else 'it'} is {first.nearest}"
    if fault.hazards > fault.count:
        yield plural(fault.hazards, "hazard")
    if fault.doubt:
        yield f"this may be a false alarm: {fault.doubt}"
    yield from _callers(first.device)
    if first.host:
        stack = " < ".join(str(frame) for frame in first.host[:MOST_SHOWN])
        yield f"host stack{f' at {first.host_at}' if first.host_at else ''}: {stack}"
    if report.not_printed:
        yield f"the tool counted {plural(report.not_printed, 'further error')} in this run and did not print them"
