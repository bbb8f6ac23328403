"""ROCm's debug agent: "wave_1: pc=0x... (stopped, reason: MEMORY_VIOLATION)" with registers and "Disassembly for function ...".

Printed where HSA_TOOLS_LIB names librocm-debug-agent.so.2. The wave is the one that faulted, so kernel and line are named; the
line only if the code was built with -ggdb, or the code object is a file that still exists. After a memory violation the wave is
past the access, so its line is a note, not the place: the access is searched in the code before it, by the addresses that its
registers still hold.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote

from gpudx.backends.mangling import demangle
from gpudx.evidence import _amd_waves
from gpudx.evidence._amd_lines import source_line
from gpudx.evidence._amd_waves import Access
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
_OBJECT = re.compile(r"code object: file://([^#?\s]+)(?:#offset=(\w+)(?:&size=(\w+))?)?")
_LOADED = re.compile(r"loaded at: \[(0x[0-9a-fA-F]+)-")
_PAGE = re.compile(r"(?:Faulting page: |on address )(0x[0-9a-fA-F]+)")
MOST_CODE = 1 << 30
_NUMBERED = re.compile(r"^\s*(\d+)\s+\S")
_FILE = re.compile(r"^\s*(\S+\.\w+):\s*$")
MEANINGS = {
    "MEMORY_VIOLATION": ("accessed memory that is not mapped, or not for this kind of access", "out-of-bounds-access"),
    "ADDRESS_ERROR": ("used an address that is not aligned or not valid", "out-of-bounds-access"),
    "APERTURE_VIOLATION": ("used an invalid address", "out-of-bounds-access"),
    "ASSERT_TRAP": ("ran into a trap, as a failed assert does", "device-trap"),
    "TRAP": ("ran into a trap", "device-trap"),
    "ILLEGAL_INSTRUCTION": ("executed an instruction that this device does not have", "device-exception"),
    "ECC_ERROR": ("accessed device memory that is broken", "device-exception"),
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
            below = near.after()
            line = _line(below) or _line_in_file(below, int(wave[2], 16))
            access = _access(first, near, below)
            made = access.instruction.pc if access else 0
            exact = (_line(below, made) or _line_in_file(below, made)) if made else ""
            for event in _event(wave, first, demangle(function[1].strip())[:200], line, access, exact):
                yield _with_image(event, _image(below), made)

    def finish(self) -> Iterator[Event]:
        if self._open:
            yield from _event(*self._open, "", "")
        self._open = None


def reader() -> _Waves:
    return _Waves()


def _line(below: list[str], pc: int | None = None) -> str:
    """ "test/add.cpp:53": the last source line in front of an instruction, or of the arrow; "" where only machine code is shown."""
    file = number = ""
    for line in below:
        one = _amd_waves.instruction(line) if pc is not None else None
        if (one and one.pc == pc) or (pc is None and line.lstrip().startswith("=>")):
            return source(f"{file}:{number}") if file and number else ""
        if found := _FILE.match(line):
            file = found[1]
        elif found := _NUMBERED.match(line):
            number = found[1]
    return ""


def _line_in_file(below: list[str], pc: int) -> str:
    """The same by the code object that the agent names, where that is a file: "file:///app#offset=4096&size=8192"."""
    image = _image(below)
    if image is None:
        return ""
    (path, offset, size), base = image
    try:
        with Path(path).open("rb") as file:
            file.seek(offset)
            found = source_line(file.read(size), pc - base)
    except (OSError, ValueError):
        return ""
    return source(str(found)) if found else ""


def _with_image(event: Event, image: tuple[tuple[str, int, int], int] | None, pc: int) -> Event:
    """With where the code of the access is, for who can disassemble it."""
    if event.fault is None or image is None or not pc:
        return event
    return replace(event, fault=replace(event.fault, image=image[0], pc=pc - image[1]))


def _image(below: list[str]) -> tuple[tuple[str, int, int], int] | None:
    """The code object that the agent names, where that is a file: its path, offset and size, and where it was loaded."""
    named, loaded = (next(filter(None, map(p.search, below)), None) for p in (_OBJECT, _LOADED))
    if named is None or loaded is None:
        return None
    size = int(named[3], 0) if named[3] else MOST_CODE
    return (unquote(named[1]), int(named[2] or "0", 0), size), int(loaded[1], 16)


def _access(first: Near, function: Near, below: list[str]) -> Access | None:
    """The nearest access before the wave's place that touched the page which the agent named; else the only one there is."""
    found = list(_amd_waves.accesses(_amd_waves.wave(first.upto(function)), _amd_waves.code(below)))
    page = next((int(p[1], 16) for line in first.before() if (p := _PAGE.search(line))), None)
    inside = [one for one in found if page is not None and one.address // _amd_waves.PAGE == page // _amd_waves.PAGE]
    alone = found if len({one.instruction.pc for one in found}) == 1 and page is None else []
    return next(iter(inside or alone), None)


def _event(
    wave: re.Match[str], near: Near, function: str, line: str, access: Access | None = None, exact: str = ""
) -> Iterator[Event]:
    """`line` is where the wave stood, `exact` that of the access."""
    reasons = [one for one in wave[4].split("|") if one not in QUIET]
    if not reasons:
        return
    does, cause = MEANINGS.get(reasons[0], (f"stopped ({reasons[0]})", "device-exception"))
    entry = _ENTRY.search(wave[3])
    name = (demangle(entry[1]) if entry else function).split("(")[0].removeprefix("void ")[:120]
    at = line if reasons[0] in EXACT else exact
    stood = f"it was at {line}, which is at or after the access" if line and not at else ""
    yield Event(
        kind="rocm-wave-stopped",
        role="fault",
        message=f"{f'The kernel {name}' if name else 'A kernel'} {does}{f', at {at}' if at else ''} ({reasons[0]}).",
        facts=(("kernel", name), ("reason", reasons[0]), ("at", at or line)),
        notes=tuple(filter(None, (f"the first is wave {wave[1]}, at {wave[2]}", stood, told(access)))),
        causes=(cause,),
        sure=bool(name),
        next=_next.HIP_SERIALISE,
        line=near.line,
        quote=near.text.strip(),
        fault=fault_of(does, near.text.strip(), name, at, cause, access),
    )


def told(access: Access | None) -> str:
    """ "lane 3 accessed 0x7f12 (4 bytes) with global_load_dword v5, v[2:3], off: v2 = 0x12, v3 = 0x7f" """
    if access is None:
        return ""
    values = ", ".join(f"{name} = {value:#x}" for name, value in access.registers)
    does = "wrote" if access.writes else "read"
    return f"lane {access.lane} {does} {access.bytes} bytes at {access.address:#x} with `{access.instruction.text}`: {values}"


def fault_of(does: str, said: str, kernel: str, line: str, cause: str, access: Access | None) -> DeviceFault:
    """What a recorded run can be asked about."""
    plain = DeviceFault(does, said, kernel=kernel, line=line, cause=cause)
    if access is None:
        return plain
    where = replace(plain, address=access.address, span=access.bytes, writes=access.writes)
    return replace(where, told=told(access), bases=access.bases)
