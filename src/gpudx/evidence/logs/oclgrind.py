"""Oclgrind: everything that it prints about kernels on its simulated device, and the API errors of --check-api.

Invalid accesses, data races, uninitialized values, divergence, misalignment, static arrays, read-only and mapped buffers, events
without a wait, and fatal errors. It reports the fault itself with kernel, work-item and source line. A race is a warning: a race
whose outcome the program does not depend on is also reported. Messages: the strings of Oclgrind 21.10 and its plugins.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from gpudx.evidence.logs import _next
from gpudx.evidence.logs._event import Event
from gpudx.evidence.logs._near import Near
from gpudx.evidence.logs._numbers import address
from gpudx.evidence.logs._sticky import sticky
from gpudx.evidence.logs.opencl_error import NAMES, STATUSES

FORMAT = "oclgrind"
MARKS = (
    "Oclgrind - OpenCL runtime error",
    "OCLGRIND FATAL ERROR",
    "data race at ",
    "Kernel: ",
    "Invalid read ",
    "Invalid write ",
    "Invalid memory load -",
    "Invalid memory store -",
    "Unaligned address on ",
    "ninitialized value",
    "Uninitialized address used",
    "depends on an uninitialized",
    "Work-group divergence detected",
    "Work-item finished without waiting",
    "Invalid wait event",
    "exceeds static array size",
    "Undefined behaviour due to an arithmetic",
    "Encountered trap instruction",
    "Work group size must divide NDRange exactly",
    "Unable to open simulator file",
    "produce correct buffer size",
    "(expected EOF)",
    "Failed to load bitcode from",
    "errors generated - suppressing",
    "Invalid pointer cast -",
    "Oclgrind: ",
    "[Oclgrind] ",
    "Loading Oclgrind plugin failed",
)


class _Kind(NamedTuple):
    """A message, and what it means: `says` is put behind the kernel's name."""

    pattern: re.Pattern[str]
    kind: str
    says: str
    cause: str
    warning: bool = False


def _kind(pattern: str, kind: str, says: str, cause: str, warning: bool = False) -> _Kind:
    return _Kind(re.compile(pattern), kind, says, cause, warning)


_BY = r"Invalid (?P<does>read|write) of size (?P<size>\d+) at (?P<space>\w+) memory address (?P<address>(?:0x)?[0-9a-fA-F]+)"
KINDS = (
    _kind(_BY, "out-of-bounds-access", "{does}s {size} bytes of {space} memory out of bounds", "out-of-bounds-access"),
    _kind(
        r"(?P<type>[\w-]+) data race at (?P<space>\w+) memory address (?P<address>(?:0x)?[0-9a-fA-F]+)",
        "race-in-kernel",
        "has a {type} race in {space} memory",
        "race-in-kernel",
        warning=True,
    ),
    _kind(
        r"Index \((?P<index>-?\d+)\) exceeds static array size \((?P<size>\d+)\)",
        "static-array",
        "uses index {index} of an array with {size} elements",
        "out-of-bounds-access",
    ),
    _kind(
        r"Invalid read from write-only buffer",
        "write-only-buffer",
        "reads a buffer that was created as write-only",
        "",
    ),
    _kind(
        r"Invalid write to read-only buffer",
        "read-only-buffer",
        "writes a buffer that was created as read-only",
        "",
    ),
    _kind(
        r"Invalid read from buffer mapped for writing",
        "mapped-buffer",
        "reads a buffer while the host has it mapped for writing",
        "buffer-used-while-mapped",
    ),
    _kind(
        r"Invalid write to mapped buffer",
        "mapped-buffer",
        "writes a buffer while the host has it mapped",
        "buffer-used-while-mapped",
    ),
    _kind(
        r"Invalid memory (?P<what>load|store) - source pointer is not aligned",
        "misaligned-access",
        "does a {what} at an address that is not a multiple of the type's size",
        "misaligned-access",
    ),
    _kind(
        r"Invalid pointer cast - destination pointer is not aligned",
        "misaligned-pointer",
        "casts a pointer to a type that needs a larger alignment",
        "misaligned-access",
    ),
    _kind(
        r"Unaligned address on (?P<what>[\w ]+)",
        "misaligned-access",
        "uses an unaligned address ({what})",
        "misaligned-access",
    ),
    _kind(
        r"Uninitialized value written to (?P<space>\w+) memory address (?P<address>0x[0-9a-fA-F]+)",
        "uninitialized-value",
        "writes an uninitialized value to {space} memory",
        "read-before-write",
    ),
    _kind(
        r"Uninitialized address used to (?P<does>read|write)\w* (?:from|to) (?P<space>\w+) memory",
        "uninitialized-address",
        "uses an uninitialized value as an address ({does}, {space} memory)",
        "read-before-write",
    ),
    _kind(
        r"Controlflow depends on uninitialized value",
        "uninitialized-branch",
        "branches on an uninitialized value",
        "read-before-write",
    ),
    _kind(
        r"Instruction depends on an uninitialized index",
        "uninitialized-index",
        "uses an uninitialized value as an index",
        "read-before-write",
    ),
    _kind(
        r"Work-group divergence detected \(barrier\)",
        "divergence",
        "has a barrier that not all work-items of a work-group execute",
        "barrier-misuse",
    ),
    _kind(
        r"Work-group divergence detected \(async copy\)",
        "divergence",
        "calls an asynchronous copy that differs between work-items of a work-group",
        "barrier-misuse",
    ),
    _kind(
        r"Work-group divergence detected",
        "divergence",
        "diverges within a work-group where it must not",
        "barrier-misuse",
    ),
    _kind(
        r"Work-item finished without waiting for events",
        "events-not-waited-for",
        "ends without waiting for an asynchronous copy",
        "unordered-access",
    ),
    _kind(r"Invalid wait event", "invalid-wait-event", "waits for something that is not an event", "barrier-misuse"),
    _kind(
        r"Undefined behaviour due to an arithmetic exception",
        "arithmetic",
        "divides by zero, or an integer division overflows",
        "division-by-zero",
        warning=True,
    ),
    _kind(r"Encountered trap instruction", "trap", "executes a trap instruction", "device-trap"),
    _kind(r"OCLGRIND FATAL ERROR", "oclgrind-stopped", "stopped the simulation", ""),
)
_KERNEL = re.compile(r"(?:Kernel: +|creating kernel '|kernel constants for ')(\w+)")
_OF_KERNEL = re.compile(r"^\s+Kernel: (\w+)\s*$")
_READ = re.compile(r"runtime error|FATAL ERROR|^\W")
_ITEM = re.compile(r"(?:Entity|First entity|Work-item): +(Global\([\d,]+\) Local\([\d,]+\)(?: Group\([\d,]+\))?)")
_ONLY = re.compile(r"Only (\d+) out of (\d+) work-items executed (\w+)")
_LINE = re.compile(r"At line (\d+) .*?of (\S+?):?$")
_API = re.compile(r"(Function|Error): +(\S+)")
_OWN = re.compile(
    r"(?:Oclgrind: |\[Oclgrind\] )((?:Invalid value|Unable to|Failed to|Unrecogni[sz]ed|Missing|[Ii]nitialization failed"
    r"|target application is|Error while) ?.+)"
)
_PLUGIN = re.compile(r"Loading Oclgrind plugin failed \(\w+\): (.+)")
# What oclgrind-kernel says about the file that describes a launch.
_FILE = re.compile(
    r"Work group size must divide NDRange exactly|Unable to open simulator file|Range doesn't produce correct buffer size"
    r"|Unexpected token '.{0,80}' \(expected EOF\)|Failed to load bitcode from \S+"
)
FAILED_EVENT = "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST"
_CUT = re.compile(r"(\d+) errors generated - suppressing further errors")
MOST_LINES = 14


def read(near: Near) -> Iterator[Event]:
    if "runtime error" in near.text:
        yield _refused(near.after(MOST_LINES))
        return
    if found := _CUT.search(near.text):
        said = f"Oclgrind stopped printing after {found[1]} errors: there may be more."
        yield Event("oclgrind-cut-off", "ending", said, warning=True)
        return
    if found := _OWN.match(near.text):
        said = f"Oclgrind did not start: {found[1].rstrip('.:')}."
        yield Event("oclgrind-not-started", "ending", said, (("said", found[1][:80]),), next=_next.RECORD)
        return
    if found := _FILE.search(near.text):
        said = f"oclgrind-kernel refused the description of the launch: {found[0]}."
        yield Event("oclgrind-launch-refused", "refusal", said, (("said", found[0][:80]),), causes=("launch-refused",), next=_next.RECORD)
        return
    if found := _PLUGIN.match(near.text):
        said = f"Oclgrind continued without a plugin that it could not load: {found[1][:160].rstrip('.')}."
        yield Event("oclgrind-plugin", "ending", said, (("said", found[1][:80]),), warning=True)
        return
    for kind in KINDS:
        if found := kind.pattern.search(near.text):
            below = _block(near)
            if below or kind.kind != "out-of-bounds-access":
                yield _event(kind, found, below)
            return
    if (kernel := _OF_KERNEL.match(near.text)) and any(map(_ITEM.search, near.after(2))):
        yield from _unlisted(kernel[1], next(iter(near.before(1)), "").strip(), near.line - 1)


def _unlisted(kernel: str, headline: str, line: int) -> Iterator[Event]:
    """A message that is not listed here has the same lines below its first as all others."""
    if not headline or _READ.search(headline) or any(kind.pattern.search(headline) for kind in KINDS):
        return
    said = headline[:160].rstrip(".")
    facts = (("kernel", kernel), ("said", re.sub(r"\d+", "#", said)[:80]))
    message = f"Oclgrind reports of {kernel}: {said}."
    yield Event("oclgrind-report", "fault", message, facts, next=_next.SANITIZE, sure=False, line=line, quote=headline)


def _block(near: Near) -> list[str]:
    """The lines of this message: all that are indented; a fatal error has its reason in front of them."""
    lines: list[str] = []
    for line in near.after(MOST_LINES):
        if lines and line.strip() and line[:1] not in " \t" and "FATAL" not in near.text:
            break
        lines.append(line)
    return lines


def _event(kind: _Kind, found: re.Match[str], below: list[str]) -> Event:
    facts = {name: (value or "").lower() for name, value in found.groupdict().items()}
    kernel = next((hit[1] for hit in map(_KERNEL.search, below) if hit), "")
    lines = [f"{hit[2]}:{hit[1]}" for hit in map(_LINE.search, below) if hit]
    where = f", at {' and '.join(dict.fromkeys(lines))}" if lines else ""
    reason = f": {below[0].strip()[:160]}" if kind.kind == "oclgrind-stopped" and below else ""
    null = int(facts.get("address") or "1", 16) < 4096
    subject = "Oclgrind" if kind.kind == "oclgrind-stopped" else kernel or "A kernel"
    of = f" of {kernel}" if kind.kind == "oclgrind-stopped" and kernel else ""
    return Event(
        kind=kind.kind,
        role="fault",
        message=f"{subject} {kind.says.format(**facts)}{of}{where}{reason}.",
        facts=(("kernel", kernel or "a kernel"), ("at", where)),
        notes=tuple(_notes(facts, below)),
        causes=("null-pointer",) if null and kind.kind == "out-of-bounds-access" else tuple(filter(None, (kind.cause,))),
        next=_next.SANITIZE if kind.cause in ("race-in-kernel", "out-of-bounds-access", "read-before-write") else _next.RECORD,
        warning=kind.warning,
        covers=1,
    )


def _notes(facts: dict[str, str], below: list[str]) -> Iterator[str]:
    if item := next((hit for hit in map(_ITEM.search, below) if hit), None):
        yield f"the first work-item is {item[1]}"
    if only := next((hit for hit in map(_ONLY.search, below) if hit), None):
        yield f"{only[1]} of {only[2]} work-items executed the {only[3]}"
    if (value := facts.get("address")) and (place := _place(int(value, 16))):
        yield place


OFFSET_BITS = 48  # of an address; above them Oclgrind keeps the number of the buffer (src/core/common.h, NUM_BUFFER_BITS)


def _place(value: int) -> str:
    number, offset = divmod(value, 1 << OFFSET_BITS)
    return f"the address is byte {offset:,} of the memory that Oclgrind numbers {number}" if number else address(value)


def _refused(below: list[str]) -> Event:
    told = {hit[1]: hit[2] for hit in map(_API.search, below[:3]) if hit}
    reason = next((line.strip() for line in below[2:4] if line.strip() and not _API.search(line)), "")
    call, error = told.get("Function", "a call"), told.get("Error", "an error")
    said = f"Oclgrind refused {call} ({error}){f': {reason[:200]}' if reason else ''}."
    known = STATUSES[NAMES[error]][2] if error in NAMES else ""
    cause = "launch-refused" if "NDRange" in call else known or "failed-call"
    # Where Oclgrind says why, it refused this very call; an event that failed belongs to earlier work, whatever it says.
    late = error == FAILED_EVENT or (sticky(error) and not reason)
    return Event(
        "oclgrind-refusal",
        "report" if late else "refusal",
        f"{call} returned {error}, which belongs to earlier work." if late else said,
        (("call", call), ("error", error)),
        causes=("device-error-reported",) if late else (cause,),
        next=_next.RECORD,
        covers=6,
    )
