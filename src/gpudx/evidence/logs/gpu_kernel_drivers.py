"""Kernel drivers of Intel, Arm and Qualcomm devices: i915 and xe hangs, Mali page faults, Adreno (kgsl) deadlocks.

They say that a device hung or faulted, and for which process; neither kernel nor line. A hang that is reset ends the work of the
process named.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpudx.evidence.logs import _next
from gpudx.evidence.logs._event import Event
from gpudx.evidence.logs._near import Near
from gpudx.evidence.logs._numbers import PAGE, address

FORMAT = "gpu-kernel-driver"
MARKS = ("GPU HANG", "due to GPU hang", "Unhandled Page fault in AS", "Adreno-GSL", "kgsl")
_HANG = re.compile(r"GPU HANG: ecode ([\w:]+)(?:, in (\S+) \[(\d+)\])?")
_RESET = re.compile(r"(\S+)\[(\d+)\] context reset due to GPU hang")
_MALI = re.compile(r"Unhandled Page fault in AS\d+ at VA (0x[0-9a-fA-F]+)")
_ACCESS = re.compile(r"access type \S+: (\w+)")
_PID = re.compile(r"pid: (\d+)")
_ADRENO = re.compile(r"(IOCTL_KGSL_\w+)\) failed: errno (\d+) (.+)")


def read(near: Near) -> Iterator[Event]:
    text = near.text
    if found := _HANG.search(text):
        who = f" in {found[2]} (process {found[3]})" if found[2] else ""
        yield _event("gpu-hang", f"The device hung{who} and was reset.", found[2] or "", "hang", driver="i915")
    elif found := _RESET.search(text):
        yield Event("gpu-reset", "ending", f"The work of {found[1]} was discarded after the device hung.")
    elif found := _MALI.search(text):
        access, pid = (next(filter(None, map(p.search, near.after(8))), None) for p in (_ACCESS, _PID))
        does = {"READ": "read", "WRITE": "wrote"}.get(access[1], "accessed") if access else "accessed"
        who = f" of process {pid[1]}" if pid else ""
        said = f"Work{who} on the device {does} memory that is not mapped (address {found[1]})."
        yield _event(
            "mali-page-fault", said, access[1] if access else "", "out-of-bounds-access", _null(int(found[1], 16))
        )
    elif found := _ADRENO.search(text):
        said = f"The device's driver refused to continue ({found[1]}: {found[3].strip()[:80]}); the device had hung or faulted before."
        yield _event("adreno-refusal", said, found[1], "hang")


def _null(value: int) -> str:
    """In the address spaces of these devices small addresses are ordinary; a fault at nothing says something everywhere."""
    return address(value) if value < PAGE else ""


def _event(kind: str, message: str, fact: str, cause: str, note: str = "", driver: str = "mali") -> Event:
    notes = tuple(filter(None, (note, "not proved: which kernel, launch or line it was")))
    command = _next.driver(driver, cause)
    return Event(kind, "fault", message, (("what", fact),), notes, (cause,), command, sure=False)
