"""rocgdb sessions: a signal that a wave of the device received, with its kernel, lane and line.

rocgdb shows faults of the device as signals: SIGSEGV for memory violations, SIGBUS for addresses, SIGABRT and SIGTRAP for traps, SIGILL,
SIGFPE. SIGINT is the user, who stopped a program that did not end: it names where the wave waits. Only the thread separates them from
host crashes: it is an "AMDGPU Wave" or "AMDGPU Lane". Without precise memory reporting ("set amdgpu precise-memory on") the wave has run
past the access, and the line is near it, not exact. Registers and code that the session printed below (info registers, x/8i $pc-32) give
the access itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpudx.evidence import _amd_waves
from gpudx.evidence.logs import _next
from gpudx.evidence.logs._event import Event
from gpudx.evidence.logs._near import Near
from gpudx.evidence.logs._places import source
from gpudx.evidence.logs.debug_agent import fault_of, told

FORMAT = "rocm-debugger"
MARKS = ("received signal SIG",)
_SIGNAL = re.compile(r"received signal (SIG[A-Z]+)")
_WAVE = re.compile(r"AMDGPU (?:Wave|Lane) ([\d:./]+)(?: \(([\d,]+)\)(?:\[([\d,]+)\]|/(\d+))?)?")
_FRAME = re.compile(
    r"^(?:#0 +)?(?:0x[0-9a-f]+ in |with the wave )?(?:void )?([A-Za-z_][\w:<>, ]{0,120}?) ?\(([^)]*)\)(?: "
    r"\[clone[^\]]*\])?(?: at (\S+:\d+))?"
)
MEANINGS = {
    "SIGSEGV": ("accessed memory that is not mapped, or not for this kind of access", "out-of-bounds-access"),
    "SIGBUS": ("used an address that is not aligned or not valid", "misaligned-access"),
    "SIGABRT": ("stopped at a failed assert or an abort", "device-assertion"),
    "SIGTRAP": ("stopped at a trap", "device-trap"),
    "SIGILL": ("reached an instruction that the device does not have", "device-exception"),
    "SIGFPE": ("raised a floating-point exception", "device-exception"),
    "SIGINT": ("was still running when it was interrupted", "hang"),
}
IMPRECISE = "precise memory violation signal reporting is not enabled"
MOST_LINES = 8
SESSION = 48  # lines of a session that belong to the signal


def read(near: Near) -> Iterator[Event]:
    signal = _SIGNAL.search(near.text)
    around = (near.text, *near.after(MOST_LINES))
    before = near.before(3)
    wave = next((hit for hit in map(_WAVE.search, (*around, *before)) if hit), None)
    imprecise = any(IMPRECISE in line for line in (*before, *around))
    if signal is None or signal[1] not in MEANINGS or (wave is None and not imprecise):
        return
    does, cause = MEANINGS[signal[1]]
    stopped = signal[1] == "SIGINT"
    frame = next((hit for line in around[1:] if not line.startswith("[") and (hit := _FRAME.match(line.strip()))), None)
    kernel = frame[1].strip() if frame else ""
    line = source(frame[3]) if frame and frame[3] else ""
    access = _access(near.after(SESSION))
    at = f" near {line}" if line and imprecise else f" at {line}" if line else ""
    yield Event(
        kind="rocm-wave-signal",
        role="fault",
        message=f"{f'The kernel {kernel}' if kernel else 'A kernel'} {does}{at} ({signal[1]} on the device).",
        facts=(("kernel", kernel), ("signal", signal[1]), ("at", line)),
        notes=tuple(filter(None, (*_notes(wave, imprecise), _arguments(frame), told(access), _waits(near)))),
        causes=(cause,),
        sure=bool(kernel) and not imprecise and not stopped,
        next="info threads" if stopped else "set amdgpu precise-memory on" if imprecise and access is None else _next.HIP_SERIALISE,
        covers=SESSION,
        fault=fault_of(does, near.text.strip(), kernel, "" if imprecise else line, cause, access),
    )


def _access(below: list[str]) -> _amd_waves.Access | None:
    """The access of the wave, where the session shows its registers and one access alone before its place."""
    found = list(_amd_waves.accesses(_amd_waves.wave("\n".join(below)), _amd_waves.code(below)))
    return found[0] if len({one.instruction.pc for one in found}) == 1 else None


def _waits(near: Near) -> str:
    """That the wave is at a barrier or a trap: the arrow stands behind the instruction, or at it where it is waited for."""
    listing = _amd_waves.code(near.after(SESSION))
    here = next((n for n, one in enumerate(listing) if one.here), None)
    if here is None:
        return ""
    reached = [one.name for one in listing[max(0, here - 1) : here + 1]]
    if any(name.startswith("s_barrier") for name in reached):
        return "the wave is at a barrier: it continues when all waves of its work-group that have not ended reach it"
    return "the wave has reached a trap" if any(name.startswith("s_trap") for name in reached) else ""


def _arguments(frame: re.Match[str] | None) -> str:
    """ "the kernel was called with x=0x7f12, n=4": the debugger knows them where the program was built with -ggdb."""
    return f"the kernel was called with {frame[2].strip()}" if frame and "=" in frame[2] else ""


def _notes(wave: re.Match[str] | None, imprecise: bool) -> Iterator[str]:
    if wave and wave[2]:
        yield f"the wave is in work-group ({wave[2]})"
    if imprecise:
        yield "the line is near the access, not exact: precise memory reporting was off (rocgdb: set amdgpu precise-memory on)"


def takes(near: Near) -> bool:
    """A signal of the device is no crash of the host."""
    return any(
        _WAVE.search(line) or IMPRECISE in line for line in (near.text, *near.after(MOST_LINES), *near.before(3))
    )
