"""ROCm: a queue that was shut down because its work failed, with a status.

"Callback: Queue 0x... aborting with error : HSA_STATUS_ERROR_..." (older: "Device::callbackQueue aborting"; newer: "Aborting"),
"Queue at 0x... inactivated due to async error:" and, from the debug agent, "Queue error (HSA_STATUS_...)". Any work of the
queue since the last wait may have failed; neither kernel nor address is known. Meanings are those of the HSA runtime's
specification and of hsa.h.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpudx.evidence.logs import _next
from gpudx.evidence.logs._event import Event
from gpudx.evidence.logs._near import Near
from gpudx.evidence.logs.gpu_status import codelike
from gpudx.evidence.logs.unrecognised import is_code
from gpudx.model import DeviceFault

FORMAT = "rocm-queue"
MARKS = (
    "borting with error",
    "inactivated due to async error",
    "Queue error",
    "HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION",
    "HSA_STATUS_ERROR_MEMORY_FAULT",
    "HSA_STATUS_ERROR_ILLEGAL_INSTRUCTION",
    "HSA_STATUS_ERROR_EXCEPTION",
)
_STATUS = re.compile(
    r"(?:[Aa]borting with error ?: ?|inactivated due to async error: *|Queue error (?:state: |\(|- ))(HSA_STATUS_(?:ERROR_)?([A-Z_]+))"
)
# What a call returns: it was noticed there.
_NAMED = re.compile(r"\b(HSA_STATUS_ERROR_(MEMORY_APERTURE_VIOLATION|MEMORY_FAULT|ILLEGAL_INSTRUCTION|EXCEPTION))\b")
_CODE = re.compile(r"[Cc]ode: (0x[0-9a-fA-F]+)")
_QUEUE = re.compile(r"[Qq]ueue (?:at )?(0x[0-9a-fA-F]+)")
MEANINGS = {
    "MEMORY_APERTURE_VIOLATION": (
        "used an invalid address, global, shared or private",
        ("out-of-bounds-access",),
        "a wild pointer, an index that overflowed, or shared memory that was indexed too far",
    ),
    "MEMORY_FAULT": ("accessed memory that is not mapped", ("out-of-bounds-access",), ""),
    "ILLEGAL_INSTRUCTION": (
        "executed an instruction that this device does not have",
        ("wrong-architecture", "device-exception"),
        "code for another device (HSA_OVERRIDE_GFX_VERSION can cause that), or a jump into data",
    ),
    "EXCEPTION": (
        "ended in an exception of the hardware",
        ("device-exception", "device-trap"),
        "a failed assert, a trap and abort() on the device end in the same way",
    ),
    "OUT_OF_RESOURCES": (
        "could not get memory for its stack or its registers",
        ("launch-refused",),
        "stacks of all threads that may run at once have to fit",
    ),
    "INVALID_ISA": ("is code for another device", ("wrong-architecture",), ""),
}
DOUBT = "not proved: which kernel it was; any launch since the last successful wait of this queue may have done it"


def read(near: Near) -> Iterator[Event]:
    text = f"{near.text} {''.join(near.after(1)).strip()}" if near.text.endswith(":") else near.text
    queued = _STATUS.search(text)
    status = queued or (None if codelike(text) or is_code(text) else _NAMED.search(text))
    if status is None:
        return
    does, causes, why = MEANINGS.get(status[2], (f"failed ({status[2]})", ("device-exception",), ""))
    code, queue = _CODE.search(text), _QUEUE.search(text)
    name = f"{status[1]}{f', {code[1]}' if code else ''}"
    yield Event(
        kind="rocm-queue-error",
        role="fault" if queued else "report",
        message=f"Work on the device {does} ({name}); the runtime does not say which kernel.",
        facts=(("status", status[2]),),
        notes=tuple(filter(None, (f"the queue is {queue[1]}" if queue else "", why, DOUBT))),
        causes=causes if queued else ("device-error-reported", *causes),
        sure=False,
        next=_next.HIP_SERIALISE,
        covers=int(near.text.endswith(":")),
        fault=DeviceFault(does, near.text.strip()) if queued else None,
    )
