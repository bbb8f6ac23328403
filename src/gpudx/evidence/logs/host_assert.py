"""Assertions of the host's C and C++ code, and panics of Rust: "FILE:LINE: f: Assertion `x' failed", "panicked at FILE:LINE".

The line is where the program, a library or a driver's compiler stopped itself. A panic that unwraps an error of the device is where it was
noticed; the error itself is read by its own format.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpudx.evidence.logs import _next
from gpudx.evidence.logs._event import Event
from gpudx.evidence.logs._near import Near
from gpudx.evidence.logs._places import source

FORMAT = "host-assert"
MARKS = ("CRITICAL **: ", "Assertion failed: ", "Assertion failed (", "Assertion ", "panicked at", "Abort was called at ")
_WINDOWS = re.compile(r"Assertion failed: (?P<condition>.+?),? (?:file|\() ?(?P<file>[^\s,]+), line (?P<line>\d+)")
_OPENCV = re.compile(r"Assertion failed \((?P<condition>.+)\) in .+?, file (?P<file>[^\s,]+), line (?P<line>\d+)")
_GLIBC = re.compile(r"(?P<file>[^\s:]+\.\w+):(?P<line>\d+):? .*?Assertion [`']?(?P<condition>\S.*?)[`']? failed")
_GLIB = re.compile(r"-CRITICAL \*\*: (?:[\d:.]+: )?(?P<where>\w+): assertion '(?P<condition>.+?)' failed")
_PANIC = re.compile(r"(?:thread '[^']*' (?:\(\d+\) )?|^\s*)panicked at (?:'(?P<why>.*?)', )?(?P<file>(?:[A-Za-z]:)?[^\s:]+):(?P<line>\d+)")
_BARE_PANIC = re.compile(r"(?:thread '[^']*' (?:\(\d+\) )?|^\s*)panicked at (\S.*)")
# LLVM and what is built on it; a line below asks for a report to the compiler's makers.
_COMPILER = re.compile(r"\bllvm::|\bclang::|/llvm/|\bSPIRV::|\bIGC::|\bllvm-\w+: |\bmlir::|\bLLVMToSPIRV|\bptxas: ")
_LLVM_ASKS = re.compile(r"^PLEASE submit a bug report to ")
MOST_BLANK = 8  # lines of a value that is printed in full, with rulers around its title
_TOLD = re.compile(r"^(?!\s*#).*[a-z]{3}")
_NEO = re.compile(r"Abort was called at (\d+) line in file:\s*(\S*)")  # Intel's compute runtime, UNRECOVERABLE_IF
_LOST = re.compile(r"DeviceLost|device (?:is |was )?lost", re.IGNORECASE)  # is read by its own format


def read(near: Near) -> Iterator[Event]:
    text = near.text
    if "block: [" in text or "Device-side" in text:
        return  # an assertion in a kernel
    found = _WINDOWS.search(text) or _GLIBC.search(text) or _OPENCV.search(text)
    broken = text.rstrip().endswith("panicked at")  # pasted with a line break before the place
    text = " ".join((text.rstrip(), *near.after(1))) if broken else text
    panic = _PANIC.search(text)
    if found:
        where = source(f"{found['file']}:{found['line']}") or f"{found['file'][-80:]}:{found['line']}"
        compiler = _COMPILER.search(text) or any(map(_LLVM_ASKS.search, near.after(2)))
        whose = "the device compiler" if compiler else "the host program"
        said = f"An assertion in {whose} failed at {where}: {found['condition'][:200]}."
        yield Event(
            "compiler-crashed" if compiler else "host-assertion",
            "refusal",
            said,
            (("at", where), ("condition", found["condition"][:200])),
            next=_next.RECORD,
        )
    elif found := _NEO.search(text):
        file = found[2] or next(iter(near.after(1)), "").strip()
        where = source(f"{file}:{found[1]}") or f"line {found[1]}"
        said = f"Intel's compute runtime stopped the process at {where}: it met a state that it cannot handle."
        notes = ("not proved: whether the driver, its installation or what it was passed is at fault",)
        yield Event("driver-abort", "ending", said, (("at", where),), notes, next=_next.RECORD)
    elif found := _GLIB.search(text):
        said = f"GLib refused a call of {found['where']}, whose check failed: {found['condition'][:200]}."
        yield Event("host-assertion", "refusal", said, (("at", found["where"]),), warning=True, next=_next.RECORD)
    elif panic and not _LOST.search(text):
        where = source(f"{panic['file']}:{panic['line']}") or panic["file"][-80:]
        line = near.line + broken + text.endswith(":")  # Rust 1.73 and newer say why on the next line
        why = next(iter(near.after(2)[broken:]), "") if text.endswith(":") else panic["why"] or ""
        said = f"Rust panicked at {where}{f': {why.strip()[:160].rstrip(chr(46))}' if why.strip() else ''}."
        yield Event("rust-panic", "ending", said, (("at", where),), next=_next.RECORD, line=line)
    elif (panic := _BARE_PANIC.search(text)) and not _LOST.search(text):
        below = (line.strip() for line in near.after(MOST_BLANK) if _TOLD.search(line))
        why = f"{panic[1].strip()} {next(below, '')}" if panic[1].rstrip().endswith(":") else panic[1]
        said = f"Rust panicked: {why[:160].strip(' .:')}."
        yield Event("rust-panic", "ending", said, (("said", panic[1][:80]),), next=_next.RECORD, warning=why.rstrip().endswith(":"))
