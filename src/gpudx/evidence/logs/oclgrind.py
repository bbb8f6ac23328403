"""Oclgrind: data races, invalid accesses and API errors of OpenCL programs on its simulated device.

It tells of the fault itself: kernel, work-items, source lines. Races are told as warnings: a race whose outcome the program does not
depend on is also reported.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpudx.evidence.logs import _next
from gpudx.evidence.logs._event import Event
from gpudx.evidence.logs._near import Near

FORMAT = "oclgrind"
MARKS = ("Oclgrind - OpenCL runtime error", "data race at ", "Invalid read of size", "Invalid write of size")
_RACE = re.compile(r"([\w-]+) data race at (\w+) memory address (0x[0-9a-fA-F]+)")
_ACCESS = re.compile(r"Invalid (read|write) of size (\d+) at (\w+) memory address (0x[0-9a-fA-F]+)")
_KERNEL = re.compile(r"Kernel: (\S+)")
_LINE = re.compile(r"At line (\d+) .*?of (\S+?):?$")
_API = re.compile(r"(Function|Error): +(\S+)")


def read(near: Near) -> Iterator[Event]:
    below = near.after(14)
    if "runtime error" in near.text:
        yield _refused(below)
        return
    race, access = _RACE.search(near.text), _ACCESS.search(near.text)
    if race is None and access is None:
        return
    kernel = next((hit[1] for hit in map(_KERNEL.search, below) if hit), "a kernel")
    lines = [f"{hit[2]}:{hit[1]}" for hit in map(_LINE.search, below) if hit]
    where = f" at {' and '.join(dict.fromkeys(lines))}" if lines else ""
    if race:
        what = f"{kernel} has a {race[1].lower()} race in {race[2]} memory{where}."
    else:
        assert access is not None
        does = "reads" if access[1] == "read" else "writes"
        what = f"{kernel} {does} {access[2]} bytes of {access[3]} memory out of bounds{where}."
    cause = "race-in-kernel" if race else "out-of-bounds-access"
    yield Event(
        cause,
        "fault",
        what,
        (("kernel", kernel), ("at", where)),
        causes=(cause,),
        next=_next.RECORD,
        warning=bool(race),
        covers=1,
    )


def _refused(below: list[str]) -> Event:
    told = {hit[1]: hit[2] for hit in map(_API.search, below[:3]) if hit}
    reason = next((line.strip() for line in below[2:4] if line.strip() and not _API.search(line)), "")
    call, error = told.get("Function", "a call"), told.get("Error", "an error")
    said = f"Oclgrind refused {call} ({error}){f': {reason[:200]}' if reason else ''}."
    cause = "launch-refused" if "NDRange" in call else "failed-call"
    return Event(
        "oclgrind-refusal",
        "refusal",
        said,
        (("call", call), ("error", error)),
        causes=(cause,),
        next=_next.RECORD,
        covers=6,
    )
