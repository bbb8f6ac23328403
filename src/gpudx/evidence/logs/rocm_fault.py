"""ROCm: "Memory access fault by GPU node-1 ... on address ... Reason: ..." and "Memory Fault Error [GPU index ...".

Printed by the runtime when the device faults; the process then aborts. The address is that of a page. The newest runtimes
name the kernel that was running, older ones nothing. "Unknown" as a reason says nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpudx.backends.hip.messages import FAULT
from gpudx.evidence.logs import _next
from gpudx.evidence.logs._event import Event
from gpudx.evidence.logs._near import Near
from gpudx.evidence.logs._numbers import address, page

FORMAT = "rocm-fault"
MARKS = ("Memory access fault by GPU", "Memory Fault Error [GPU")
_NAMED = re.compile(r"faulting addr: (0x[0-9a-fA-F]+)")
_KERNEL = re.compile(r"kernel: ([^\]\n]+)")
REASONS = {
    "Page not present": "touched memory that is not there",
    "Write access to a read-only page": "wrote to memory that is only for reading",
    "Unknown": "faulted, for a reason that is not told",
}
SEVERAL = "not proved: which kernel it was, and why; freed memory, a wrong index and a wrong pointer look alike"


def read(near: Near) -> Iterator[Event]:
    text = near.text
    match = FAULT.search(text)
    named = _NAMED.search(text)
    if match:
        value = 0 if match[2] == "(nil)" else int(match[2], 16)
        reason = match[3] or "Unknown"
        does = next((words for start, words in REASONS.items() if reason.startswith(start)), f"faulted: {reason}")
        yield _event(does, value, "", any(f"{value:#x}" in line for line in near.before(3) if _NAMED.search(line)))
    elif named:
        kernel = _KERNEL.search(" ".join([text, *near.after(1)]))
        yield _event("faulted", int(named[1], 16), kernel[1].strip() if kernel else "")


def _event(does: str, value: int, kernel: str, again: bool = False) -> Event:
    who = f"The kernel {kernel[:120]}" if kernel else "Work on the device"
    what = f"{who} {does} (address {value:#x})"
    unproved = SEVERAL if not kernel else "not proved: that this kernel is wrong; its arguments may be"
    return Event(
        kind="rocm-memory-fault",
        role="report" if again else "fault",
        message=f"{what}." if kernel else f"{what}; the runtime does not say which kernel.",
        facts=(("does", does), ("kernel", kernel[:120]), ("null", str(value < 4096))),
        notes=tuple(filter(None, (address(value), page(value), unproved))),
        causes=("null-pointer",) if value < 4096 else ("out-of-bounds-access",),
        sure=value < 4096,
        next=_next.HIP_SERIALISE,
    )
