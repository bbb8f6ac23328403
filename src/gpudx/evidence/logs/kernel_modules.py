"""GPU drivers in the kernel's log that no other format has read: amdgpu, kfd, i915, xe, nvidia, nouveau, msm, mali, panfrost and others.

Lines are read by the driver's name and by their words: firmware that did not load, hangs and timeouts, page faults, resets, memory errors,
devices that left the bus or were never started. They name the process at most; neither kernel nor line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from gpudx.evidence.logs import _next
from gpudx.evidence.logs._event import Event, Role
from gpudx.evidence.logs._near import Near
from gpudx.evidence.logs._numbers import PAGE, address

FORMAT = "kernel-module"
GENERIC = 2
ANY_CASE = True
MARKS = (
    "amdgpu",
    "kfd",
    "i915",
    "xe 0000",
    "[xe]",
    "nouveau",
    "mtgpu",
    "nvrm",
    "nvidia:",
    "[nvidia",
    "nvgpu",
    "dxgk",
    "tegra",
    "nvidia 0000",
    "nvidia-",
    "panfrost",
    "panthor",
    "lima",
    "mali",
    "msm",
    "adreno",
    "kgsl",
    "asahi",
    "v3d",
    "etnaviv",
    "radeon",
    "gpu fault",
    "gpu hang",
    "gpu reset",
    "[drm",
    "vfio",
    "pci 0000",
    "pci device",
    "pci rom",
    "/sys/bus/pci",
    "device bar",
    "/devices/pci",
    "pcieport",
    "vgaarb",
    "drmn",
    "gpu sched",
    "iommu",
    "dmar",
    "amd-vi",
    "smmu",
    "devcoredump",
    "virtio_gpu",
    "pvrsrvkm",
    "pvr_k",
    "powervr",
    "vivante",
    "habanalabs",
    "snd_hda",
    "gpu_sched",
    "ast 0000",
    "binary firmware",
    "drivers/gpu/",
    "drivers/accel/",
    "firmware image",
    "gsp task",
)
MOST_READ = 10_000
FORGETS = True  # but for whether a fault was reported shortly before
_DRIVER = re.compile(
    r"\b(amdgpu|amdkfd|kfd|i915|xe|nouveau|MTGPU|NVRM|nvidia(?:-(?:modeset|drm|uvm|peermem|nvswitch|nvlink|caps|gpu))?(?![-\w])|nvgpu"
    r"|dxgk(?:rnl)?|tegra-\w+|host1x|panfrost|panthor|lima"
    r"|mali\w*|msm\w*|adreno\w*"
    r"|kgsl\w*|Adreno-GSL|asahi|v3d"
    r"|etnaviv|(?-i:radeon)|vfio[-_]pci|vfio|pcieport|DMAR|AMD-Vi|pvrsrvkm|PVR_K|powervr|habanalabs|virtio_gpu|drmn\d+|gpu_sched|\w*iommu\w*"
    r"|\w*smmu\w*)\b",
    re.IGNORECASE,
)
_NAMED = re.compile(r"\bGSP task\b|\bPCI (?:device|ROM)\b|/bus/pci/|/devices/pci|device BAR\b|\bpci 0000:|gpu fault|\[drm(?![/\w])"
                    r"|firmware image"
                    r"|binary "
                    r"firmware|gpu hang", re.IGNORECASE)
_STACK = re.compile(
    r"\b(\w+)\+0x[0-9a-f]+/0x[0-9a-f]+ \[(nvidia\w*|amdgpu|amdkfd|i915|xe|nouveau|msm|panfrost|radeon|mali\w*)\b"
)
# What lines of a kernel have and others do not: a source in brackets, a PCI or platform address, the time since the start.
_KERNEL_LOG = re.compile(
    r"kern(?:el)?\b(?! and userspace)|\[ *\d+\.\d{3,6}\]|^\[[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d [\d:]{8} \d{4}\]"
    r"|\[drm(?![/\w])|\*ERROR\*|drm:|firmware|[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.\d"
    r"|[0-9a-f]{6,}\.\w+:|NVRM|\bGSP task|\bPCI (?:device|ROM)\b|/bus/pci/|device BAR\b"
    r"|-GSL|\*\*\* gpu fault|^\s*PVR_K: "
    r"|^\s*(?:kfd )?(?:drmn\d+|nvgpu|amdgpu|i915|xe|nouveau|nvidia\S*|panfrost|mali\w*|kfd|amdkfd): "
)


# A program that could not open a device file: read as a device that is missing.
_OPENED = re.compile(r"\bopen\w*\W{0,6}/dev/|/dev/\w+\S*\W.{0,40}(?:denied|no such|not permitted)", re.IGNORECASE)
# Arm's driver prints its command queues: every queue with its next command, and what it waits for.
_QUEUES = re.compile(r"\bmali \S+: *(?:SAVED_CMD_PTR|SYNC_WAIT: Waiting|WAIT_CONDITION|queue:\S+ at:0x)")
_WARNED = re.compile(r"(?:WARNING|BUG): .{0,80}?\bat (?:\S*/)?(drivers/(?:gpu|accel)/\S+?:\d+)")


class _Kind(NamedTuple):
    pattern: re.Pattern[str]
    kind: str
    role: Role
    means: str
    cause: str


def _kind(pattern: str, kind: str, role: Role, means: str, cause: str = "") -> _Kind:
    return _Kind(re.compile(pattern, re.IGNORECASE), kind, role, means, cause)


SOON = 100  # lines
KINDS = (
    # ECANCELED: amdgpu refuses every submission of a context that a reset took away (Linux, amdgpu_cs.c).
    _kind(
        r"parser -125|CS has (?:been )?(?:rejected(?!.*\(-12\))|cancel)",
        "gpu-reset",
        "ending",
        "work was refused because the device had been reset",
    ),
    _kind(r"wedged, but recovered", "gpu-reset", "ending", "the driver reset the device, and work on it was lost"),
    # Linux, drm_dev_wedged_event(): the driver gave up, and refuses all work until it is loaded again.
    _kind(r"\bwedged\b", "device-wedged", "refusal", "the driver gave the device up and refuses all work"),
    _kind(
        r"firmware.{0,80}(?:fail|missing|not found|unable|error|-2\b|invalid)|(?:fail|unable|could ?n.t|cannot).{0,60}(?:firmware"
        r"|ucode|microcode|request_firmware|\.fw\b)"
        r"|Possible missing firmware|Direct firmware load",
        "firmware-missing",
        "refusal",
        "firmware of the device did not load",
    ),
    _kind(
        r"fallen off the bus|GPU lost|PCIe? (?:bus )?error|AER:|link (?:is )?down|no longer accessible"
        r"|device inaccessible|dead fence"
        r"|PCI config space",
        "device-left-bus",
        "fault",
        "the device left the bus, or the link to it failed",
    ),
    _kind(
        r"uncorrect\w* (?:ecc|error)|RAS.{0,40}(?:error|poison)|poison|ECC error|bad page|row remap|retired page|hardware error",
        "device-memory-error",
        "fault",
        "the device reported a hardware error",
    ),
    # Linux, kfd_int_process_v9.c and its successors: 1 is an illegal instruction of a wave, 2 a memory violation.
    _kind(
        r"sq_intr: error\b.*\berr_type 2\b",
        "device-page-fault",
        "fault",
        "a wave accessed memory that it may not access",
        "out-of-bounds-access",
    ),
    _kind(
        r"sq_intr: error\b.*\berr_type 1\b|illegal (?:opcode|instruction|register|command)|bad_op|invalid opcode|protected mode error"
        r"|trap\b.*(?:illegal|invalid)|bad "
        # Linux, panfrost_device.c and panthor_device.c: names of exceptions of Mali devices.
        r"(?:command|packet)|DATA_INVALID_FAULT|CONFIG_FAULT|INSTR_(?:INVALID|TYPE|OPERAND)_\w+|CS_(?:INVALID|INHERIT)_\w+",
        "device-bad-command",
        "fault",
        "the device found an invalid command or instruction",
        "device-exception",
    ),
    # Linux, i915: intel_engine_heartbeat.c. The engine no longer ran even the driver's own requests.
    _kind(
        r"stopped heartbeat|\bgpu for hang\b|\bpreemption time ?out",
        "device-hang",
        "fault",
        "the device did not finish its work in time",
        "hang",
    ),
    _kind(
        r"resetting (?:chip|gpu|rcs|engine|device)|reset begin",
        "gpu-reset",
        "ending",
        "the driver reset the device, and work on it was lost",
    ),
    _kind(
        r"fault \(page table\)|MMU error|pte invalid"
        r"|page ?fault|fault:? .{0,40}iova|context fault|mmu fault|vm fault|translation fault|protection fault|unhandled.{0,20}fault"
        r"|fault [0-9a-f]{2} \[\w*(?:READ|WRITE|ATOMIC|PREFETCH)\w*\] at"  # nouveau, nvkm/engine/fifo
        r"|(?:read|write|atomic) fault at [0-9a-f]{6,}|MMU \d fault addr"
        r"|fault info|invalid (?:read|write)|smmu.{0,40}fault|fault response: unsuccessful"
        r"|iommu.{0,60}fault|DMAR.{0,60}fault|IO_PAGE_FAULT|CAT[_ ]?ERR|ADDR_RANGE_FAULT|\[OOR_ADDR\]|Unmapped|bus fault",
        "device-page-fault",
        "fault",
        "the device accessed memory that is not mapped",
        "out-of-bounds-access",
    ),
    _kind(
        r"reset.{0,40}(?:fail|not supported|Inappropriate)|fail\w* to reset|error writing.{0,120}reset|Refused to change power state"
        r"|not ready \d+ ?ms after (?:FLR|bus reset|resume|D3\w*)|stuck in D3|Unable to change power state",
        "reset-failed",
        "refusal",
        "the device could not be reset",
    ),
    _kind(
        r"\bBAR\b.{0,60}(?:fail|no space|can't|cannot|unable)|fail\w*.{0,40}\bBAR\b|no space for|MMIO range",
        "device-memory-window",
        "refusal",
        "a memory window (BAR) of the device could not be placed",
    ),
    _kind(
        r"gpu fault|\berrored\b|GPU exception|shader (?:exception|fault)|trap(?:\b|_)|SM exception|PBDMA|PGRAPH|CE fault",
        "device-fault",
        "fault",
        "work on the device failed",
        "device-exception",
    ),
    _kind(
        r"API mismatch|version mismatch",
        "driver-versions-differ",
        "refusal",
        "the kernel module and the libraries of the driver have different versions",
    ),
    _kind(
        r"(?:fail\w*|unable|could ?n.t|cannot).{0,60}(?:init|probe|regulator|enable|load|bring up|start)|(?:init|probe|load"
        r"|start)\w*.{0,40}(?:fail|error)|RmInitAdapter failed|not supported on|unsupported (?:device|gpu|hardware|asic)"
        r"|No NVIDIA (?:\w+ )?(?:GPU|device|adapter)|probe routine was not called|installed in this system is not supported"
        r"|Fatal error during GPU init|hw_init of IP block|GPU init",
        "driver-init-failed",
        "refusal",
        "the driver could not start the device",
    ),
    _kind(
        r"timed? ?out|timeout|\bstalled\b|hang(?!check timer)|hung|hangcheck|lockup|stuck|not respond|failed to respon|wait(?:ing)? for "
        r".{0,40}(?:fail|expired)|too long|no heartbeat|deadlock|-ETIME(?:DOUT)?\b|\b(?:error|ret|err|failed)\W{1,4}-(?:62|110)\b"
        r"|\(-(?:62|110)\)",
        "device-hang",
        "fault",
        "the device did not finish its work in time",
        "hang",
    ),
    # Processors of the device run programs of the driver: GuC and HuC (Intel), GSP (NVIDIA), SMU, PSP and MES (AMD), GMU (Adreno).
    _kind(
        r"\b(?:GuC|HuC|GSC|GSP|SMU|SMC|PSP|MES|DMUB|GMU|MCU)\b.{0,60}(?:fail|dead|error|invalid|crash|refused)|kflcnCoreDump",
        "firmware-error",
        "refusal",
        "firmware on the device failed or refused a request",
    ),
    _kind(
        r"reset (?:begin|fail|succeed|success|complete)|resetting|soft[- ]reset|hard[- ]reset|reset is needed|recover|VRAM is lost"
        r"|engine reset|GPU reset|BACO|MODE[12] reset|banned|context reset",
        "gpu-reset",
        "ending",
        "the driver reset the device, and work on it was lost",
    ),
    _kind(
        r"out of memory|ENOMEM|-12\b|no memory|failed to (?:allocate|reserve|pin)|OOM",
        "driver-out-of-memory",
        "refusal",
        "the driver could not allocate memory",
        "failed-call",
    ),
    _kind(
        r"\*ERROR\*|(?:\b|_)error\b|\bfail(?:ed|ure)?\b|fatal|abort|invalid|Oops|BUG:|unable|cannot|could not"
        r"|\bbad (?:state|value|address|magic|page|data)|unrecoverable|unexpected|\brefus|\breject|\bcrash",
        "driver-error",
        "refusal",
        "it hit an error",
    ),
)
PAGE_FAULT = next(one for one in reversed(KINDS) if one.kind == "device-page-fault")
VAGUE = ("device-hang", "device-fault")  # what a page that is not mapped comes to; drivers print it below
_PROCESS = re.compile(
    r"[Pp]rocess(?: information: process)? (?P<name>\S+) pid (?P<pid>\d+)"
    r"|\[(?:[0-9a-f]{6,} )?(?P<app>[A-Za-z][\w.-]*)\[(?P<n>\d+)\]\]|(?P<task>[\w.-]+)\[(?P<k>\d+)\]:? (?:gpu fault|context reset)"
    r"|\bpid=(?P<q>\d+), comm=(?P<comm>[^\s,]+)|offending task: (?P<of>\S+)|in (?P<who>[\w.:/-]+) "
    r"\[(?P<id>\d+)\]|(?:pid|PID)(?: = |[=: ])(?P<p>\d+)"
)
_ADDRESS = re.compile(r"(?:iova|addr(?:ess)?|VA|at)\s*[=:]?\s*(0x[0-9a-fA-F]+|(?<=iova=)[0-9a-fA-F]{8,16})")
# Their devices have address spaces of their own, in which small addresses are ordinary; a fault at nothing says something everywhere.
_OWN_SPACE = ("lima", "v3d", "etnaviv", "panfrost", "panthor", "asahi", "nouveau", "radeon", "i915", "xe", "tegra")
_BELOW = 14  # lines in which a driver that reports a timeout prints the fault that led to it
_FAULT_AT = re.compile(r"(?:fault at|fault addr|\bat|VA|iova)[ =:]{1,3}(0x[0-9a-fA-F]+|[0-9a-f]{8,16})\b")
_STATE = re.compile(r"\baddress: (0x[0-9a-fA-F]+)|reason: (\w*(?:Unmapped|Fault|Invalid)\w*)")  # a struct, printed over several lines
# Ordinary lines that have one of the words above.
_FINE = re.compile(
    r"loaded .{0,60}from new location|Finished loading|supports|initialized|\benabled\b|timeout=\d+"
    r"|timeouts?: \d+ ?ms|timeout from \d+|optional "
    r".{0,40}not available|succeed|\bno errors?\b|error_inject"
    r"|Process information:|Dumping IP State|coredump file has been created|Check your /sys|hangcheck timer|loading NVIDIA UNIX"
    r"|module verification|taints "
    r"kernel|watchdog: .*enabled|reset succeeded|Cannot find any crtc or sizes",
    re.IGNORECASE,
)


class Lines:
    """A driver prints many lines about one fault: what comes soon after the first follows from it."""

    def __init__(self) -> None:
        self._fault, self._vague = -SOON, False  # the last line of a fault, and whether it said no more than that work failed

    def takes(self, near: Near) -> bool:
        """Ordinary lines of a driver, so that no format reads them by their words."""
        return bool(_DRIVER.search(near.text) and _FINE.search(near.text) and _KERNEL_LOG.search(near.raw.decode("utf-8", "replace")[:400]))

    def read(self, near: Near) -> Iterator[Event]:
        text = near.text
        driver = _DRIVER.search(text)
        if found := _STACK.search(text):
            said = f"The kernel's stack trace goes through the driver {found[2]} ({found[1]})."
            yield Event("kernel-stack", "ending", said, (("driver", found[2]),), next=_next.DMESG)
            return
        if found := _WARNED.search(text):
            said = f"The Linux kernel found a broken assumption in a graphics driver, at {found[1]}."
            yield Event("kernel-warning", "ending", said, (("at", found[1]),), next=_next.DMESG)
            return
        if _QUEUES.search(text):
            said = "The kernel driver (mali) printed the state of its queues, as it does after a hang or when it is asked to."
            yield Event("queue-dump", "ending", said, (("driver", "mali"),), next=_next.DMESG)
            return
        if (driver is None and not _NAMED.search(text)) or _OPENED.search(text):
            return
        if _FINE.search(text) or not _KERNEL_LOG.search(near.raw.decode("utf-8", "replace")[:400]):
            return
        kind = next((one for one in KINDS if one.pattern.search(text)), None)
        if kind is not None:
            event = _event(kind, driver[1].lower() if driver else "", near)
            if event.role == "fault":
                says_more = self._vague and event.kind not in VAGUE
                event = replace(event, role="report") if near.line - self._fault < SOON and not says_more else event
                self._fault, self._vague = near.line, event.kind in VAGUE
            yield event


def names_work(near: Near) -> bool:
    """Is it a line of a phone's kernel driver about a hang or fault? It says more than that a device was lost."""
    return "kgsl" in near.text and bool(_KERNEL_LOG.search(near.text))


def reader() -> Lines:
    return Lines()


def _faulted(near: Near, driver: str) -> re.Match[str] | None:
    """The address in the record of a fault under a line that says only that work failed, where the record says that it was not mapped."""
    own = (line for line in near.after(_BELOW) if driver and driver in line.lower())
    if line := next((line for line in own if PAGE_FAULT.pattern.search(line) and _FAULT_AT.search(line)), ""):
        return _FAULT_AT.search(line)
    found = [hit for hit in map(_STATE.search, near.after(_BELOW)) if hit]
    return next((hit for hit in found if hit[1]), None) if any(hit[2] for hit in found) else None


def _event(kind: _Kind, driver: str, near: Near) -> Event:
    found = next(filter(None, map(_PROCESS.search, (near.text, *near.after(3)))), None)
    name = (found["name"] or found["app"] or found["task"] or found["of"] or found["comm"] or found["who"] or "") if found else ""
    pid = (found["pid"] or found["n"] or found["k"] or found["q"] or found["id"] or found["p"] or "") if found else ""
    who = (
        f", in {name}{f' (process {pid})' if pid else ''}"
        if name
        else f", in process {pid}"
        if pid and pid != "0"
        else ""
    )
    where = _ADDRESS.search(near.text)
    if kind.kind in VAGUE and (state := _faulted(near, driver)):
        kind, where = PAGE_FAULT, state
    value = int(where[1], 16) if where and kind.kind == PAGE_FAULT.kind else None
    small = driver in _OWN_SPACE and value is not None and PAGE <= value < 1 << 32
    notes = (
        f"the address is {value:#x}" if value else "",
        address(value) if value is not None and not small else "",
        "not proved: which kernel, launch or line it was" if kind.cause else "",
    )
    return Event(
        kind=kind.kind,
        role=kind.role,
        message=f"The kernel driver{f' ({driver})' if driver else ''} reported that {kind.means}{who}.",
        facts=(("driver", driver or "gpu"), *((("process", name),) if name else ())),
        notes=tuple(filter(None, notes)),
        causes=(kind.cause,) if kind.cause else (),
        next=_next.driver(driver, kind.cause) if kind.role != "ending" else "",
        sure=False,
    )
