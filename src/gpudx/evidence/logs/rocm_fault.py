"""ROCm: "Memory access fault by GPU node-1 ... on address ... Reason: ..." and "Memory Fault Error [GPU index ...".

Printed by the runtime when the device faults; the process then aborts. The address is that of a page. The newest runtimes
name the kernel that was running, older ones nothing. "Unknown" as a reason says nothing. The debug agent prints the same as
"System event (HSA_AMD_GPU_MEMORY_FAULT_EVENT: ...)" with the page in the next line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpudx.backends.hip.messages import FAULT
from gpudx.evidence.logs import _next
from gpudx.evidence.logs._event import Event
from gpudx.evidence.logs._near import Near
from gpudx.evidence.logs._numbers import address, page, span
from gpudx.model import DeviceFault

FORMAT = "rocm-fault"
MARKS = (
    "emory access fault by GPU",
    "emory access fault at GPU",
    "emory critical error by agent",
    "Memory Fault Error [GPU",
    "HSA_AMD_GPU_MEMORY_FAULT_EVENT",
)
_NAMED = re.compile(r"faulting addr: (0x[0-9a-fA-F]+)")
_INDEX = re.compile(r"GPU index: (\d+)")
_KERNEL = re.compile(r"kernel: ([^\]\n]+)")
_EVENT = re.compile(r"\(HSA_AMD_GPU_MEMORY_FAULT_EVENT: ([^)]*)\)")
_PAGE = re.compile(r"^\s*Faulting page: (0x[0-9a-fA-F]+)")
# The first debug agent (2019): the page in the next line, its last digits as "xxx".
_AT_NODE = re.compile(r"emory access fault at GPU Node: (\d+)")
_PAGE_OF = re.compile(r"^\s*Address: 0x([0-9a-fA-F]+?)(x{0,3}) ?\(([^;)]*)")
_CRITICAL = re.compile(r"emory critical error by agent (\S+).{0,60}? on address (0x[0-9a-fA-F]+)\.? Reason: ([^.]+)")
READ_ONLY = "wrote to read-only memory"
DAMAGED = "read memory whose contents the hardware reports as damaged"
REASONS = {
    "page not present": "accessed memory that is not mapped",
    "write access to a read-only page": READ_ONLY,
    "dram ecc failure": DAMAGED,
    "sram ecc failure": DAMAGED,
    "unknown": "faulted for an unknown reason",
}
SEVERAL = "not proved: which kernel it was, and why; freed memory, a wrong index and a wrong pointer look alike"
LONGEST = 120


def read(near: Near) -> Iterator[Event]:
    text = near.text
    if match := FAULT.search(text):
        value = 0 if match[2] == "(nil)" else int(match[2], 16)
        again = any(f"{value:#x}" in line for line in near.before(3) if _NAMED.search(line) or _PAGE.search(line))
        yield _event(_fault(text, match[3] or "Unknown", value, match[1]), again)
    elif named := _NAMED.search(text):
        kernel, index = _KERNEL.search(" ".join([text, *near.after(1)])), _INDEX.search(text)
        device = f"GPU {index[1]}" if index else ""
        name = kernel[1].strip()[:LONGEST] if kernel else ""
        yield _event(DeviceFault("faulted", text.strip(), *_place(int(named[1], 16)), None, device, name))
    elif (at := _AT_NODE.search(text)) and (where := next(filter(None, map(_PAGE_OF.match, near.after(2))), None)):
        value = int(where[1], 16) << 4 * len(where[2])
        yield _event(_fault(text, where[3].strip() or "Unknown", value, f"node {at[1]}"))
    elif critical := _CRITICAL.search(text):
        said = f"ROCm's runtime stopped the process for memory at {critical[2]}: {critical[3].strip().lower()}."
        notes = ("not proved: which call or kernel it was", f"the device is {critical[1]}, as the runtime counts")
        yield Event("rocm-memory-error", "fault", said, (("reason", critical[3][:40]),), notes, next=_next.HIP_SERIALISE)
    elif (event := _EVENT.search(text)) and (where := next(filter(None, map(_PAGE.search, near.after(2))), None)):
        yield _event(_fault(text, event[1], int(where[1], 16), ""))


def _fault(text: str, reason: str, value: int, device: str) -> DeviceFault:
    """The first reason that is told decides: a page that is not there is told as one for reading too."""
    does = next((words for start, words in REASONS.items() if reason.lower().startswith(start)), f"faulted: {reason}")
    return DeviceFault(does, text.strip(), *_place(value), True if does == READ_ONLY else None, device)


def _place(value: int) -> tuple[int, int]:
    return value, span(value)


def _event(fault: DeviceFault, again: bool = False) -> Event:
    value, kernel = fault.address or 0, fault.kernel
    who = f"The kernel {kernel}" if kernel else "Work on the device"
    what = f"{who} {fault.does} (address {value:#x})"
    damaged = fault.does == DAMAGED
    unproved = "" if damaged else SEVERAL if not kernel else "not proved: that this kernel is wrong; its arguments may be"
    device = f"the device is {fault.device}, as the runtime counts" if fault.device else ""
    return Event(
        kind="rocm-memory-fault",
        role="report" if again else "fault",
        message=f"{what}." if kernel else f"{what}; the runtime does not say which kernel.",
        facts=(("does", fault.does), ("kernel", kernel), ("null", str(value < 4096))),
        notes=tuple(filter(None, (address(value), page(value), device, unproved))),
        causes=() if damaged else ("null-pointer",) if value < 4096 else ("out-of-bounds-access",),
        sure=value < 4096 and not damaged,
        next=_next.DMESG if damaged else _next.HIP_SERIALISE,
        fault=fault,
    )
