"""cuda-gdb sessions, and the lines that the driver prints while it writes a core dump of the device.

"CUDA Exception: ...", "received signal CUDA_EXCEPTION_5", "Detected an exception of type CUDBG_EXCEPTION_...": the device's own
record. cuda-gdb names the kernel that faulted; the driver's lines name exception and instruction address, which the core dump
resolves. An exception that was detected after the warp had ended is not exact about the instruction. A session without an
exception shows only where a thread was.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpudx.evidence._cuda_exceptions import EXCEPTIONS, PREFIX
from gpudx.evidence.logs import _next
from gpudx.evidence.logs._event import Event
from gpudx.evidence.logs._near import Near
from gpudx.evidence.logs._places import source

FORMAT = "cuda-debugger"
MARKS = ("CUDA Exception: ", "CUDA_EXCEPTION_", "exception of type CUDBG_EXCEPTION_", "ocus to CUDA kernel", "ocus set to CUDA kernel")
_TOLD = re.compile(
    r"CUDA Exception: ([\w -]+)|CUDA_EXCEPTION_(\d+)|CUDBG_EXCEPTION_\w+ ?\((\d+)\)|(CUDBG_EXCEPTION_[A-Z_]+)"
)
_KERNEL = re.compile(
    r"\bin (?:void )?([\w:~]+(?:<(?!<<)[^()\n]{0,300}?>)?)\s*(?:\([^\n]*?)?<<<\(([\d,]+)\),\(([\d,]+)\)>>>"
)
_LINE = re.compile(r"triggered at PC 0x[0-9a-f]+ .*\((\S+:\d+)\)\s*$|^#0 .* at (\S+:\d+)\s*$")  # the exact place first
_FUNCTION = re.compile(r"triggered at PC 0x[0-9a-f]+ +(?:void )?([A-Za-z_][\w:~]*)[<(]")  # the kernel, or what it calls
_AT = re.compile(r"block \(([\d,]+)\), thread \(([\d,]+)\)")
_FOCUS = re.compile(r"ocus (?:set )?to CUDA kernel (\d+)")
_STANDS = re.compile(r"(?:^|\bin )(?:void )?([A-Za-z_][\w:~]*)(?:<(?!<<)[^()\n]{0,200}>)?\s*(?:<<<[^>]*>>>)?\s*\([^()]*\)(?: at "
                     r"(\S+:\d+))?")
BY_WORDS = {name.replace("_", " ").lower(): code for code, (name, _) in EXCEPTIONS.items()}
CAUSES = {6: "misaligned-access", 11: "misaligned-access", 12: "device-assertion", 4: "device-trap"}
OUTSIDE = (1, 5, 10, 14, 30)
LATE = "after the warp has exited"
MOST_LINES = 6


def read(near: Near) -> Iterator[Event]:
    match = _TOLD.search(near.text)
    code = _code(match) if match else None
    if code is None:
        yield from _focus(near)
        return
    below = near.after(MOST_LINES)
    kernel = next((hit for hit in map(_KERNEL.search, below) if hit), None)
    who = f"The kernel {kernel[1]} (grid {kernel[2]}, block {kernel[3]})" if kernel else "A kernel"
    inside = next((f" in {hit[1]}" for hit in map(_FUNCTION.search, below) if hit), "") if kernel is None else ""
    placed = next((hit for hit in map(_LINE.search, below) if hit), None)
    line = source(placed[1] or placed[2]) if placed and not any(LATE in one for one in below) else ""
    yield Event(
        kind="device-exception",
        role="fault",
        message=f"{who} faulted on the device{inside}{f' at {line}' if line else ''}: {EXCEPTIONS[code][1]}.",
        facts=(("exception", EXCEPTIONS[code][0]), ("kernel", kernel[1] if kernel else ""), *((("at", line),) if line else ())),
        notes=tuple(_notes([*below, *near.before(3)], bool(kernel))),
        causes=(cause_of(code),),
        next=_next.SANITIZE if kernel else _next.DUMP,
    )


def _focus(near: Near) -> Iterator[Event]:
    """A thread that somebody looked at: shown, and nothing concluded from it."""
    if not _FOCUS.search(near.text) or any(_TOLD.search(line) for line in (*near.before(4), *near.after(2))):
        return
    below = near.after(2)
    stands = next((hit for hit in map(_STANDS.search, below) if hit), None)
    at = _AT.search(near.text)
    who = f"thread ({at[2]}) of block ({at[1]})" if at else "a thread"
    where = f" in {stands[1]}" if stands else ""
    line = source(stands[2]) if stands and stands[2] else ""
    said = f"In cuda-gdb, {who} is{where}{f' at {line}' if line else ''}; this part of the session shows no exception."
    facts = (("kernel", stands[1] if stands else ""), ("at", line))
    yield Event("debugger-focus", "ending", said, facts, next=_next.HANG, warning=True)


def cause_of(code: int) -> str:
    """What an exception of the device suggests, by its number."""
    return "out-of-bounds-access" if code in OUTSIDE else CAUSES.get(code, "device-exception")


def _code(match: re.Match[str]) -> int | None:
    words, signal, number, name = match.groups()
    if words:
        return BY_WORDS.get(re.sub(r"[ -]+", " ", words).strip().lower())
    code = int((signal or number)[:12]) if signal or number else None
    code = code if code is not None else next((c for c, (n, _) in EXCEPTIONS.items() if PREFIX + n == name), None)
    return code if code in EXCEPTIONS else None


def _notes(below: list[str], kernel: bool) -> Iterator[str]:
    if any(LATE in line for line in below):
        yield "it was detected after the warp had ended: the instruction is not exact"
    if at := next((hit for hit in map(_AT.search, below) if hit), None):
        yield f"in thread ({at[2]}) of block ({at[1]})"
    if not kernel:
        yield "not proved here: which kernel it was; the core dump has it"
