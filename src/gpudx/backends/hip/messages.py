"""What the HIP runtime prints while a program runs, as far as it says why something failed.

"Memory access fault by GPU node-1 (Agent handle: 0x...) on address 0x.... Reason: ..." comes before abort() (ROCr-Runtime,
runtime.cpp). The address is that of the page; the kernel is not named. "Callback: Queue 0x... aborting with error : HSA_STATUS_..."
(clr, rocdevice.cpp) tells neither. Meanings of statuses: HSA Runtime Programmer's Reference Manual, hsa.h and hsa_ext_amd.h.
"""

from __future__ import annotations

import re

from gpudx.backends.tool import Fault, QueueAbort

PAGE = 4096
FAULT = re.compile(
    r"[Mm]emory access fault by GPU(?: (?!(?:on|at) )(\S+))?.*? (?:on|at virtual) address (\(nil\)|0x[0-9a-fA-F]+)"
    r"(?:\(may not be exact address\))?\.?(?: Reasons?: ([^.]+))?"
)


def fault(text: str) -> Fault | None:
    """The fault that a printed text tells of, None for other texts."""
    found = FAULT.search(text)
    if found is None:
        return None
    address = 0 if found[2] == "(nil)" else int(found[2], 16)
    return Fault(address & ~(PAGE - 1), PAGE, (found[3] or "unknown").strip())


ABORT = re.compile(r"[Aa]borting with error ?: ?(HSA_STATUS_(?:ERROR_)?([A-Z_]+))(?:: ?([^.]*))?")
STATUSES = {
    "MEMORY_APERTURE_VIOLATION": ("used an invalid address", "out-of-bounds-access"),
    "MEMORY_FAULT": ("accessed memory that is not mapped", "out-of-bounds-access"),
    "ILLEGAL_INSTRUCTION": ("executed an instruction that this device does not have", "device-exception"),
    "EXCEPTION": ("raised a hardware exception, as a failed assert or a trap does", "device-trap"),
    "OUT_OF_RESOURCES": ("got no memory for its stack or registers", "launch-refused"),
    "INVALID_ISA": ("is code for another device", "wrong-architecture"),
}


def abort(text: str) -> QueueAbort | None:
    """The queue that a printed text says was shut down, None for other texts."""
    found = ABORT.search(text)
    if found is None:
        return None
    does, cause = STATUSES.get(found[2], ("failed", "device-exception"))
    return QueueAbort(found[1], does, cause, found[0].strip())
