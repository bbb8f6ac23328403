"""Valgrind: invalid accesses, uninitialised values, bad frees and data races in memory of the host, with the stack under each.

It sees the process, never the device. An access inside a copy call (clEnqueueWriteBuffer, cudaMemcpy and their drivers) shows host memory
that is smaller than the copy; an access anywhere else is the program's own. Leaks are shown and no failure. Drivers map device memory in
ways that Valgrind does not know, so that errors whose whole stack lies in a driver can be false.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpudx.evidence.logs import _next
from gpudx.evidence.logs._event import Event
from gpudx.evidence.logs._near import Near
from gpudx.evidence.logs._places import source

FORMAT = "valgrind"
MARKS = (
    "== Invalid ",
    "== Conditional jump or move depends",
    "== Use of uninitialised value",
    "== Syscall param",
    "== Mismatched free",
    "== Source and destination overlap",
    "== Possible data race",
    "== Process terminating with",
    "definitely lost in loss record",
)
_HEAD = re.compile(
    r"==\d+== +(?:(?P<access>Invalid (?P<does>read|write) of size (?P<size>\d+))|(?P<free>Invalid free\(\)|Mismatched free\(\))"
    r"|(?P<unset>(?:Conditional jump or move depends on|Use of) uninitialised value|Syscall param \S+ (?:points to|contains)"
    r" uninitialised)"
    r"|(?P<gone>Syscall param \S+ points to unaddressable)|(?P<overlap>Source and destination overlap in (?P<function>\w+))"
    r"|(?P<race>Possible data race during (?P<how>read|write) of size \d+)"
    r"|(?P<leak>[\d,]+ (?:\([^)]*\) )?bytes in [\d,]+ blocks are definitely lost)"
    r"|Process terminating with (?:default action of )?signal \d+ \((?P<signal>SIG\w+)\))"
)
_FRAME = re.compile(r"==\d+== +(?:at|by) 0x[0-9A-Fa-f]+: (?P<function>[^(]+?) ?\((?P<where>[^()]*)\)")
_REGION = re.compile(r"Address 0x[0-9a-f]+ is ([\d,]+) bytes (after|before|inside) a block of size ([\d,]+) (alloc'd|free'd)")
# Names of copies as programs call them and as ICD loaders and drivers wrap them (POclEnqueueWriteBuffer).
_COPY = re.compile(r"\b\w*(?:Enqueue(?:Read|Write|SVMMem|Copy)\w*|(?:cuda|hip|cu)Memcpy\w*)\b")
_DRIVER = re.compile(r"\bin /\S*(?:libpocl|libOpenCL|libcuda|libamd|libhsa|libigd|libnvidia|libMali|libze_|iris_dri)", re.IGNORECASE)
MOST_FRAMES = 12


def read(near: Near) -> Iterator[Event]:
    head = _HEAD.search(near.text)
    if head is None:
        return
    below = near.after(2 * MOST_FRAMES)
    stack = []
    for line in below:
        frame = _FRAME.search(line)
        if frame is None:
            break
        stack.append(frame)
    own = next((one for one in stack if source(one["where"]) and not one["where"].startswith("vg_replace")), None)
    copy = next((found[0] for one in stack if (found := _COPY.search(one["function"]))), "")
    called = next((one for one in stack[_index(stack, copy) + 1 :] if source(one["where"])), own) if copy else own
    at = f" at {source(called['where'])}{f' in {called[1].strip()}'}" if called else ""
    region = next((found for found in map(_REGION.search, below[: len(stack) + 4]) if found), None)
    inside = bool(stack) and all(_DRIVER.search(one["where"]) for one in stack)
    kind, said = _said(head)
    yield Event(
        kind=f"valgrind-{kind}",
        role="ending" if kind == "signal" else "fault",
        message=f"{said}{f' inside {copy}' if copy else ''}{at}{_missed(region)} (Valgrind, on the host).",
        facts=(("kind", kind), ("at", source(called["where"]) if called else ""), ("call", copy)),
        notes=("the whole stack lies in a driver, whose memory Valgrind does not know: this can be a false report",) if inside else (),
        causes=("copy-range",) if copy and head["access"] and region else (),
        next=_next.RECORD,
        sure=False,
        warning=kind == "leak" or inside,
        covers=len(stack) + 2,
    )


def _index(stack: list[re.Match[str]], copy: str) -> int:
    return max(index for index, one in enumerate(stack) if copy in one["function"])


def _said(head: re.Match[str]) -> tuple[str, str]:
    if head["access"]:
        did = "read" if head["does"] == "read" else "wrote"
        return "invalid-access", f"The host program {did} {head['size']} bytes that it may not access"
    if head["free"]:
        return "invalid-free", "The host program freed memory that it did not allocate in this way, or had freed before"
    if head["unset"]:
        return "uninitialised", "The host program used an uninitialized value"
    if head["gone"]:
        return "invalid-access", "The host program passed memory to the system that it may not access"
    if head["overlap"]:
        return "overlap", f"The host program passed {head['function']} a source and a destination that overlap"
    if head["race"]:
        return "race", f"Two host threads race for the same memory, in a {head['how']}"
    if head["leak"]:
        return "leak", "The host program lost memory that it never freed"
    return "signal", f"{head['signal']} ended the process under Valgrind"


def _missed(region: re.Match[str] | None) -> str:
    if region is None:
        return ""
    state = "that had been freed" if region[4] == "free'd" else ""
    side = {"after": "past the end of", "before": "before", "inside": "inside"}[region[2]]
    return f", {region[1]} bytes {side} a block of {region[3]} bytes{f' {state}' if state else ''}"
