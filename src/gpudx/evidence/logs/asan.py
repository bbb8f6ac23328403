"""AddressSanitizer, on the host and on AMD devices: "ERROR: AddressSanitizer: KIND ..." with frame and memory under it.

This is the fault itself: kind, access size, source line, and the distance from the memory it missed. On AMD devices the frame
is the kernel's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import takewhile

from gpudx.evidence.logs import _next
from gpudx.evidence.logs._event import Event
from gpudx.evidence.logs._near import Near
from gpudx.evidence.logs._numbers import address
from gpudx.evidence.logs._places import source
from gpudx.model import DeviceFault
from gpudx.text import plural

FORMAT = "asan"
MARKS = ("ERROR: AddressSanitizer",)
_HEAD = re.compile(
    r"ERROR: AddressSanitizer:? (?P<kind>[\w-]+)(?P<device> on amdgpu device)?.*?(?:address (?P<address>0x[0-9a-fA-F]+))?"
)
_ADDRESS = re.compile(r"address (0x[0-9a-fA-F]+)")
_ACCESS = re.compile(r"^(READ|WRITE) of size (\d+)(?: in workgroup id (\([\d,]+\)))?")
_THREAD = re.compile(r"^\s*(\d+) : (0x[0-9a-fA-F]+)")  # of an AMD device: each thread with its address
_FRAME = re.compile(r"#0 0x[0-9a-f]+ in (.+)")
# A call of a GPU interface in the stack: what it was passed decides, and its caller passed it.
_CALL = re.compile(r"^\s*#\d+ 0x[0-9a-f]+ in ((?:clEnqueue|clCreate|cudaMem|hipMem|cuMem)\w*)")
_REGION = re.compile(r"located (\d+) bytes (before|after|inside of|to the left of|to the right of) (\d+)-byte region")
SIDES = {
    "before": "before", "to the left of": "before", "after": "behind", "to the right of": "behind", "inside of": "inside",
}  # fmt: skip


def read(near: Near) -> Iterator[Event]:
    head = _HEAD.search(near.text)
    if head is None:
        return
    below = near.after(40)
    stack = list(takewhile(lambda line: line.strip(), below))
    call = next((at for at, line in enumerate(stack) if _CALL.match(line)), None)
    caller = source(next(iter(stack[call + 1 : call + 2]), "")) if call is not None else ""
    access, frame, region = (next(filter(None, map(p.search, below)), None) for p in (_ACCESS, _FRAME, _REGION))
    where = source(frame[1]) if frame else ""
    function = frame[1].split("(")[0].split(" at ")[0].split(" /")[0] if frame else "The program"
    if call is not None and (named := _CALL.match(stack[call])):
        function, where = named[1], caller or where
    found = _ADDRESS.search(near.text)
    threads = [one for line in below if (one := _THREAD.match(line))] if head["device"] else []
    yield Event(
        kind=f"asan-{head['kind']}"[:60],
        role="fault",
        message=_message(head, function, access, where, region),
        facts=(("kind", head["kind"]), ("at", where or function)),
        notes=tuple(filter(None, (address(int(found[1], 16)) if found else "", _threads(access, threads)))),
        causes=("out-of-bounds-access",) if head["device"] else ("copy-range",) if call is not None else ("crash-outside-calls",),
        next=_next.RECORD,
        covers=3,
        fault=DeviceFault(
            f"made a bad access ({head['kind']})",
            near.text.strip(),
            int(threads[0][2], 16),
            writes=access[1] == "WRITE" if access else None,
            kernel=function,
        )
        if threads
        else None,
    )


def _deed(access: re.Match[str] | None) -> str:
    if access is None:
        return "access"
    return f"read of {access[2]} bytes" if access[1] == "READ" else f"write of {access[2]} bytes"


def _message(
    head: re.Match[str], function: str, access: re.Match[str] | None, where: str, region: re.Match[str] | None
) -> str:
    at = f" at {where}" if where else ""
    far, size = (f"{int(one):,} bytes" for one in (region[1], region[3])) if region else ("", "")
    away = {
        "": "",
        "before": f", {far} before memory of {size}",
        "behind": f", {far} past the end of memory of {size}",
        "inside": f", {far} inside memory of {size}",
    }
    side = SIDES[region[2]] if region else ""
    return f"{function} made a bad {_deed(access)}{at}{away[side]} ({head['kind']}, {_tool(head)})."


def _tool(head: re.Match[str]) -> str:
    return "AddressSanitizer on the device" if head["device"] else "AddressSanitizer"


def _threads(access: re.Match[str] | None, threads: list[re.Match[str]]) -> str:
    """ "thread 0 of workgroup (0,0,0) accessed 0x7b16, and 3 more threads"."""
    if not threads:
        return ""
    group = f" of workgroup {access[3]}" if access and access[3] else ""
    more = f", and {plural(len(threads) - 1, 'more thread')}" if len(threads) > 1 else ""
    return f"thread {int(threads[0][1])}{group} accessed {threads[0][2]}{more}"
