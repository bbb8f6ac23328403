"""ROCm's debug agent: "wave_1: pc=0x... (stopped, reason: MEMORY_VIOLATION)" with registers and "Disassembly for function ...".

Printed where HSA_TOOLS_LIB names librocm-debug-agent.so.2. The wave is the one that faulted, so that kernel and line are named; the
line only in code that was built with -ggdb. After a memory violation the wave stands behind the access, so that its line is a note,
not the place. Registers are not read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpudx.backends.mangling import demangle
from gpudx.evidence.logs import _next
from gpudx.evidence.logs._event import Event
from gpudx.evidence.logs._near import Near
from gpudx.evidence.logs._places import source
from gpudx.model import DeviceFault

FORMAT = "debug-agent"
MARKS = ("(stopped, reason: ", "Disassembly for function ")
_WAVE = re.compile(r"\bwave_(\d+): pc=(0x[0-9a-fA-F]+) ?(.*)\(stopped, reason: ([A-Z_|0-9]+)\)")
_ENTRY = re.compile(
    r"kernel_code_entry=0x[0-9a-fA-F]+ <(.+?)>(?:, |\))"
)  # newer agents name the kernel in the same line
_FUNCTION = re.compile(r"Disassembly for function (.+?):?\s*$")
_NUMBERED = re.compile(r"^\s*(\d+)\s+\S")
_FILE = re.compile(r"^\s*(\S+\.\w+):\s*$")
MEANINGS = {
    "MEMORY_VIOLATION": ("touched memory that is not there, or may not be touched so", "out-of-bounds-access"),
    "ADDRESS_ERROR": ("used an address that is not aligned, or that no memory can have", "out-of-bounds-access"),
    "ASSERT_TRAP": ("ran into a trap, as a failed assert does", "device-trap"),
    "TRAP": ("ran into a trap", "device-trap"),
    "ILLEGAL_INSTRUCTION": ("met an instruction that this device does not have", "device-exception"),
    "ECC_ERROR": ("met memory of the device that is broken", "device-exception"),
}
QUIET = ("NONE", "BREAKPOINT", "WATCHPOINT", "SINGLE_STEP", "DEBUG_TRAP")  # no faults
EXACT = ("ASSERT_TRAP", "TRAP", "ILLEGAL_INSTRUCTION")  # the wave stands at what stopped it


class _Waves:
    """A wave's registers stand between its headline and its function, so that the headline is kept until then."""

    def __init__(self) -> None:
        self._open: tuple[re.Match[str], Near] | None = None

    def read(self, near: Near) -> Iterator[Event]:
        if found := _WAVE.search(near.text):
            yield from self.finish()
            self._open = (found, near)
        elif self._open and (function := _FUNCTION.search(near.text)):
            wave, first = self._open
            self._open = None
            yield from _event(wave, first, demangle(function[1].strip())[:200], _line(near.after()))

    def finish(self) -> Iterator[Event]:
        if self._open:
            yield from _event(*self._open, "", "")
        self._open = None


def reader() -> _Waves:
    return _Waves()


def _line(below: list[str]) -> str:
    """ "test/add.cpp:53": the last source line in front of the arrow; "" where only machine code is shown."""
    file = number = ""
    for line in below:
        if line.lstrip().startswith("=>"):
            return source(f"{file}:{number}") if file and number else ""
        if found := _FILE.match(line):
            file = found[1]
        elif found := _NUMBERED.match(line):
            number = found[1]
    return ""


def _event(wave: re.Match[str], near: Near, function: str, line: str) -> Iterator[Event]:
    reasons = [one for one in wave[4].split("|") if one not in QUIET]
    if not reasons:
        return
    does, cause = MEANINGS.get(reasons[0], (f"stopped ({reasons[0]})", "device-exception"))
    entry = _ENTRY.search(wave[3])
    name = (demangle(entry[1]) if entry else function).split("(")[0].removeprefix("void ")[:120]
    at = line if reasons[0] in EXACT else ""
    stood = f"it stood at {line}, which is at or behind the access" if line and not at else ""
    yield Event(
        kind="rocm-wave-stopped",
        role="fault",
        message=f"{f'The kernel {name}' if name else 'A kernel'} {does}{f', at {at}' if at else ''} ({reasons[0]}).",
        facts=(("kernel", name), ("reason", reasons[0]), ("at", line)),
        notes=tuple(filter(None, (f"the first is wave {wave[1]}, at {wave[2]}", stood))),
        causes=(cause,),
        sure=bool(name),
        next=_next.HIP_SERIALISE,
        line=near.line,
        quote=near.text.strip(),
        fault=DeviceFault(does, near.text.strip(), kernel=name),
    )
