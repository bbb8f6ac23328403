"""NVIDIA's kernel driver: "NVRM: Xid (PCI:...): NUMBER, ..." in dmesg, journals and syslog.

The device's own report that something failed, with the process if the driver knows it. It names neither kernel nor line.
Numbers: NVIDIA's "Xid Errors" document. 43 and 45 are consequences of something earlier; 13, 31 and 109 are most often faults of
the program; 48, 63, 64, 74, 79, 94, 95 and 119 are most often faults of device, link or driver.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpudx.backends.cuda.messages import PAGE, is_write, page_of
from gpudx.evidence.logs import _next
from gpudx.evidence.logs._event import Event, Role
from gpudx.evidence.logs._near import Near
from gpudx.evidence.logs._numbers import address
from gpudx.model import DeviceFault

FORMAT = "xid"
MARKS = ("NVRM: Xid", "gsp: rc ", "Xid=", "XID ", "Xid ", "Xid:", "XidCriticalError")
_LINE = re.compile(
    r"NVRM: Xid \((?:PCI:)?([0-9a-fA-F:.]+)[^)]*\): (\d+)(?:, pid='?([^',]+)'?)?(?:, name=([^,]+))?[, ]*(.*)"
)
# Monitors and device plugins: the number, and the device by its UUID at most.
_RETOLD = re.compile(
    r"\b(?:Xid|XID)(?:CriticalError)?(?: error| code| event)?s?[ =:#]{1,3}(\d{1,3})\b(?!\.\d)(?:.{0,80}?(GPU-[0-9a-f-]{8,36}))?"
)
# nouveau with the firmware of NVIDIA (Linux, r535_gsp_msg_rc_triggered): the type is the number of the Xid.
_NOUVEAU = re.compile(r"\bgsp: rc engn:\w+ chid:\d+ .*?\btype:(\d{1,3})\b(?:.*?\bfault_addr:([0-9a-f]+))?")
_CHANNEL = re.compile(r"\[([\w.-]+)\[(\d+)\]\] errored")
_FAULT = re.compile(r"Fault is of type (\S+) (\S+)|faulted @ (0x[0-9a-fA-F_]+)")
_EXCEPTION = re.compile(r"(?:Warp|Global) Exception on \([^)]*\): (.+)")
PROGRAM = {
    13: ("the device raised an exception while a kernel ran", "device-exception"),
    31: ("a kernel or copy accessed device memory that is not mapped", "out-of-bounds-access"),
    32: ("the device received invalid commands", "device-exception"),
    43: ("the driver stopped the work of a process after a fault", ""),
    45: ("the driver discarded the work of a process, after a fault or because it ended", ""),
    154: ("the recovery action for the device has changed", ""),
    68: ("the video engine failed", ""),
    69: ("the graphics engine raised an exception", "device-exception"),
    109: ("the device did not switch between tasks in time", "hang"),
}
MACHINE = {
    8: "the device stopped answering", 38: "the driver's firmware failed", 48: "device memory has a double-bit error",
    61: "the device's controller halted", 62: "the device's controller halted", 63: "a row of device memory was remapped",
    64: "a row of device memory could not be remapped", 74: "NVLink failed", 79: "the device has fallen off the bus",
    92: "device memory has many corrected errors", 94: "an uncorrected memory error was contained",
    95: "an uncorrected memory error was not contained", 119: "the device's firmware did not answer",
    120: "the device's firmware failed", 140: "device memory has an uncorrected error", 149: "NVLink failed",
    # NVIDIA, "Xid Errors" (GPU deployment and management documentation).
    16: "the display engine hung", 18: "bus mastering was switched off in the PCI configuration of the device",
    24: "a semaphore of the device timed out", 25: "the driver sent an invalid command stream",
    26: "the device's memory did not answer in time", 44: "the graphics engine failed while it switched between tasks",
    46: "the device stopped processing", 54: "the card's power connector is not connected", 56: "the display engine failed",
    57: "the link to the device's memory could not be trained", 66: "the driver made an illegal access",
    67: "the driver made an illegal access", 78: "a virtual GPU could not be started", 80: "the device received damaged data",
    110: "the device reported a security fault", 121: "the link between processor and device had errors that were corrected",
    122: "the device's firmware memory could not be accessed", 143: "the device could not be initialized",
    144: "NVLink failed", 145: "NVLink failed", 146: "NVLink failed", 147: "NVLink failed", 148: "NVLink failed", 150: "NVLink failed",
    155: "NVLink failed", 156: "a part of the device was retired", 157: "a part of the device could not be retired",
    158: "the device timed out and did not recover",
}  # fmt: skip
RECOVERY = 154
AFTERWARDS = (43, 45, RECOVERY)
MMU = 31


def read(near: Near) -> Iterator[Event]:
    match = _LINE.search(near.text)
    if match is None:
        yield from _retold(near)
        return
    number, rest = int(match[2][:6]), match[5]
    means, cause = PROGRAM.get(number, (MACHINE.get(number, "a number that gpudx does not know"), ""))
    exception = _EXCEPTION.search(rest)
    detail = exception[1].strip() if exception else ""
    if "Misaligned" in detail:
        cause = "misaligned-access"
    role: Role = "ending" if number in AFTERWARDS else "fault"
    yield Event(
        kind=f"xid-{number}",
        role=role,
        message=f"The driver reported Xid {number}: {means}{f' ({detail})' if detail else ''}{_who(match[3], match[4])}.",
        facts=(("xid", str(number)), ("pci", match[1])),
        notes=tuple(_notes(number, rest)),
        causes=(cause,) if cause else (),
        sure=number not in (31, 109),
        fault=_fault(number, rest, near.text),
        next=_next.HEALTH if number in MACHINE else _next.SANITIZE if number in (13, 31) else _next.HANG,
    )


def _retold(near: Near) -> Iterator[Event]:
    """A number that another program repeats from the driver."""
    if told := _NOUVEAU.search(near.text):
        yield _by_firmware(int(told[1]), told[2], next(filter(None, map(_CHANNEL.search, near.after(3))), None))
        return
    found = _RETOLD.search(near.text)
    number = int(found[1]) if found else 0
    if found is None or (number not in PROGRAM and number not in MACHINE):
        return
    means, cause = PROGRAM.get(number, (MACHINE.get(number, ""), ""))
    yield Event(
        kind=f"xid-{number}",
        role="ending" if number in AFTERWARDS else "report",
        message=f"The log repeats the driver's Xid {number}: {means}.",
        facts=(("xid", str(number)), ("device", found[2] or "")),
        notes=("the kernel log of that machine has the driver's own line, with the process",),
        causes=(cause,) if cause else (),
        sure=False,
        next=_next.HEALTH if number in MACHINE else _next.DMESG,
    )


def _by_firmware(number: int, where: str | None, process: re.Match[str] | None) -> Event:
    """nouveau passes on what the firmware of the device says, with the numbers of NVIDIA's own driver."""
    means, cause = PROGRAM.get(number, (MACHINE.get(number, "a number that gpudx does not know"), ""))
    who = _who(process[2], process[1]) if process else ""
    value = int(where or "0", 16)
    return Event(
        kind=f"xid-{number}",
        role="fault",
        message=f"The firmware of the device reported error {number} (as Xid {number}): {means}{who}.",
        facts=(("xid", str(number)), ("pci", "")),
        notes=(*((f"the address was {value:#x}",) if value else ()), "not proved: which kernel, launch or line it was"),
        causes=(cause,) if cause else (),
        sure=False,
        next=_next.DMESG,
    )


def _fault(number: int, rest: str, said: str) -> DeviceFault | None:
    """What a recorded run can be asked about: the page that was accessed."""
    where, kind = re.search(r"faulted @ (0x[0-9a-fA-F_]+)", rest), re.search(r"ACCESS_TYPE_(?:VIRT_|PHYS_)?(\w+)", rest)
    if number != MMU or where is None:
        return None
    writes = is_write(kind[1]) if kind else None
    return DeviceFault("accessed memory that is not mapped", said.strip(), page_of(where[1]), PAGE, writes, cause="out-of-bounds-access")


def _who(pid: str | None, name: str | None) -> str:
    known = pid and pid.strip("<>") != "unknown"
    return f", in process {pid}{f' ({name})' if name else ''}" if known else ""


def _notes(number: int, rest: str) -> Iterator[str]:
    for found in _FAULT.finditer(rest):
        if found[3]:
            value = int(found[3].replace("_", ""), 16)
            yield address(value) or f"the address was {value:#x}"
        else:
            yield f"the type of the fault is {found[1]}, the access was {found[2]}"
    if number in PROGRAM:
        yield "not proved: which kernel, launch or line it was"
