"""AMD's debug agent (librocm-debug-agent): the waves that stopped, why, and in which kernel.

"wave_1: pc=0x... (stopped, reason: MEMORY_VIOLATION)": the device's own record, one line for each wave. The kernel stands in the
line (ROCm 7) or in "Disassembly for function ...:" near it. The instruction at the arrow is where the wave stopped: after a memory
violation that is behind the access, so it is not told as the place. Waves that were stopped only to be shown have no reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpudx.evidence.logs import _next
from gpudx.evidence.logs._event import Event
from gpudx.evidence.logs._near import Near

FORMAT = "debug-agent"
MARKS = ("(stopped, reason: ",)
_REASON = re.compile(r"\(stopped, reason: ([A-Z_]+(?:\|[A-Z_]+)*)\)")
_ENTRY = re.compile(r"kernel_code_entry=0x[0-9a-f]+ <(.+?)>(?:, kernargs=0x[0-9a-f]+)?\) \(stopped")
_FUNCTION = re.compile(r"Disassembly for function (.+?):\s*$")
BEFORE, AFTER = 12, 60
# Names of stop reasons: ROCdbgapi, amd_dbgapi_wave_stop_reasons_t.
REASONS = {
    "MEMORY_VIOLATION": ("accessed memory that it may not access", "out-of-bounds-access"),
    "APERTURE_VIOLATION": ("used an address of no memory space", "device-exception"),
    "ASSERT_TRAP": ("ran into a trap, as failed assertions do", "device-trap"),
    "TRAP": ("ran into a trap", "device-trap"),
    "ILLEGAL_INSTRUCTION": ("met an instruction that the device does not know", "device-exception"),
    "ADDRESS_ERROR": ("used an address that is not aligned", "misaligned-access"),
    "ECC_ERROR": ("met an error of device memory", "device-exception"),
    "FATAL_HALT": ("was halted by the device", "device-exception"),
}


def read(near: Near) -> Iterator[Event]:
    found = _REASON.search(near.text)
    reason = next((one for one in found[1].split("|") if one in REASONS), "") if found else ""
    if not reason:
        return
    kernel = _kernel(near)
    means, cause = REASONS[reason]
    yield Event(
        kind="device-exception",
        role="fault",
        message=f"{f'The kernel {kernel}' if kernel else 'A kernel'} {means} ({reason}).",
        facts=(("reason", reason), ("kernel", kernel)),
        notes=() if kernel else ("not proved here: which kernel it was",),
        causes=(cause,),
        sure=bool(kernel),
        next=_next.HIP_SERIALISE,
    )


def _kernel(near: Near) -> str:
    above = near.before(BEFORE)
    if entry := _ENTRY.search(" ".join([*reversed(above), near.text])):
        return _short(entry[1])
    for line in (*above, *near.after(AFTER)):
        if found := _FUNCTION.search(line):
            return _short(found[1])
    return ""


def _short(name: str) -> str:
    return re.sub(r"\s+", " ", name).split("(")[0].removeprefix("void ").strip()[:120]
