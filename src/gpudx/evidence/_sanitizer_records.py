"""What a compute-sanitizer report says: one record per error that it printed, and the groups that they fall into."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

from gpudx.model import Severity
from gpudx.text import plural, triple

Kind = Literal[
    "invalid-read", "invalid-write", "invalid-atomic", "invalid-access", "misaligned-access", "uninitialised-read",
    "uninitialised-copy", "race", "cluster-race", "barrier", "deadlock", "api-error", "leak", "unused-memory",
    "device-heap", "unified-memory-fault", "trap", "lifetime-race", "hardware-exception",
]  # fmt: skip
Status = Literal["clean", "errors", "did not run", "cut off", "incomplete"]
Side = Literal["before", "after", "inside"]
Dim = tuple[int, int, int]
LOWEST = 1 << 20  # of the addresses that a driver gives to memory of the device


@dataclass(frozen=True)
class Location:
    """Where in the device code: function, offset of the instruction, "file:line". Each may be missing."""

    function: str | None = None
    pc: int | None = None
    source: str | None = None

    def __str__(self) -> str:
        offset = f"+{self.pc:#x}" if self.pc is not None else ""
        return f"{self.function or '?'}{offset}" + (f" in {self.source}" if self.source else "")


@dataclass(frozen=True)
class Nearest:
    """The allocation that the tool holds nearest to the address: `distance` bytes away on that side, as it counts.

    The byte right behind an allocation is "1 bytes after" it for the tool; `Record.past_end` counts it as 0.
    """

    side: Side
    distance: int
    address: int
    size: int

    def __str__(self) -> str:
        far = plural(self.distance, "byte")
        ways = {"inside": "inside", "before": f"{far} before", "after": f"{far} after"}
        return f"{ways[self.side]} the nearest allocation at {self.address:#x} of size {self.size:,} bytes"


@dataclass(frozen=True)
class HostFrame:
    """One frame of the saved host stack."""

    function: str | None = None
    module: str | None = None
    offset: int | None = None
    source: str | None = None

    def __str__(self) -> str:
        offset = f" [{self.offset:#x}]" if self.offset is not None else ""
        source = f" ({self.source})" if self.source else ""
        return f"{self.function or '?'}{offset}" + (f" in {self.module}" if self.module else "") + source


@dataclass(frozen=True)
class Record:
    """One error as it was printed. `text` is its first line; what the tool did not say is None."""

    kind: Kind
    text: str
    severity: Severity = "error"
    size: int | None = None
    space: str | None = None  # "global", "shared", "local"
    where: Location = Location()
    other: Location | None = None  # the second access of a race
    block: Dim | None = None
    thread: Dim | None = None
    address: int | None = None
    reason: str | None = None  # "out of bounds", "misaligned", ...
    nearest: Nearest | None = None
    api: str | None = None
    error: str | None = None  # "cudaErrorInvalidValue"
    code: int | None = None
    hazards: int = 1
    host: tuple[HostFrame, ...] = ()
    host_at: str | None = None  # when the host stack was saved
    device: tuple[str, ...] = ()  # calling device functions
    notes: tuple[str, ...] = ()  # lines that were not understood

    @property
    def near_null(self) -> bool:
        """Is it an address that no allocation has, so that a null pointer was indexed?"""
        return self.space == "global" and self.address is not None and self.address < LOWEST

    @property
    def past_end(self) -> int | None:
        """How far past the end of the nearest allocation the access begins; negative inside or before it."""
        if self.nearest is None or self.address is None:
            return None
        return self.address - (self.nearest.address + self.nearest.size)


@dataclass(frozen=True)
class Range:
    """Lowest and highest value of something over the records of a fault."""

    low: int
    high: int

    def __str__(self) -> str:
        return f"{self.low:#x}" if self.low == self.high else f"{self.low:#x} to {self.high:#x}"


@dataclass(frozen=True)
class Box:
    """The smallest box of block or thread indexes that holds all of a fault's records."""

    low: Dim
    high: Dim

    def __str__(self) -> str:
        low, high = triple(self.low), triple(self.high)
        return low if low == high else f"{low} to {high}"


@dataclass(frozen=True)
class Fault:
    """All records of one kind at one site. `first` is the first that was printed.

    `doubt` says why this may be a false alarm of the tool, `follows` that it repeats an earlier failure: after a device
    error every later call returns it.
    """

    kind: Kind
    first: Record
    count: int
    hazards: int
    addresses: Range | None
    blocks: Box | None
    threads: Box | None
    bytes: int  # leaked, for leaks
    doubt: str | None = None
    follows: bool = False


@dataclass(frozen=True)
class Report:
    """One report. `errors` is what the tool counted, which is more than it printed when `not_printed` is not 0.

    `status` is "clean" only when the tool said so itself: without its summary it did not run, or was cut off.
    """

    status: Status
    tool: str | None  # "memcheck", "racecheck", ... as far as the text tells
    faults: tuple[Fault, ...]
    records: int
    errors: int | None
    not_printed: int = 0
    leaked: int | None = None
    problems: tuple[str, ...] = ()  # what the tool says about itself
    summaries: tuple[str, ...] = field(default=(), repr=False)


_OLD = re.compile(r"(0x[0-9a-fA-F]+)(?: in (.+))?")
_FILE_FIRST = re.compile(r"((?:[A-Za-z]:)?[^:]*[./\\][^:]*):(\d+):(.+)")
_NEW = re.compile(r"(.+?)(?:\+|:)(0x[0-9a-fA-F]+)(?: in (.+))?")
_NO_OFFSET = re.compile(r"(.+?) in (\S.*:\d+)")


def location(text: str) -> Location:
    """ "f(int)+0x70 in a.cu:7", and the older "0x70 in a.cu:7:f(int)" and "0x70 in f(int)"."""
    text = text.strip()
    if match := _OLD.fullmatch(text):
        pc, rest = int(match[1], 16), match[2]
        inner = _FILE_FIRST.fullmatch(rest) if rest else None
        if inner:
            return Location(inner[3], pc, f"{inner[1]}:{inner[2]}")
        return Location(rest, pc)
    if match := _NEW.fullmatch(text):
        return Location(match[1], int(match[2], 16), match[3])
    if match := _NO_OFFSET.fullmatch(text):
        return Location(match[1], None, match[2])
    return Location(text or None)


_FRAME = re.compile(
    r"(?P<name>.*?)(?: in (?P<source>\S+:\d+))?\s*\[(?P<offset>0x[0-9a-fA-F]+)\](?: in (?P<module>.+))?"
)
_OLD_FRAME = re.compile(r"(?P<module>\S+) \((?P<name>.+?) \+ 0x[0-9a-fA-F]+\)\s*\[(?P<offset>0x[0-9a-fA-F]+)\]")


def host_frame(text: str) -> HostFrame:
    """ "main [0x8da9] in app", and the older "/lib/libcuda.so (cuLaunchKernel + 0x2cd) [0x24c3]" and "./app [0x9c]"."""
    text = text.strip()
    if match := _OLD_FRAME.fullmatch(text):
        return HostFrame(match["name"], match["module"], int(match["offset"], 16))
    match = _FRAME.fullmatch(text)
    if not match:
        return HostFrame(text or None)
    name, module = match["name"].strip() or None, match["module"]
    if name and not module and not match["source"] and re.match(r"[./]|[A-Za-z]:[\\/]", name):
        name, module = None, name  # the old form without a function
    return HostFrame(name, module, int(match["offset"], 16), match["source"])
