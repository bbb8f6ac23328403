"""What the CUDA driver prints while it writes a GPU core dump (CUDA_COREDUMP_SHOW_PROGRESS=1), usually to stderr.

The exception, its SM, warp, address and the kernel's name are printed at once, so that they survive when the program
ends before the dump is whole, or when no dump can be written at all. A dump is finished when the driver says so; a
program that ends earlier leaves lines that stop in the middle, which is told as "cut off", never as finished.

The lines may stand anywhere in a mixed log and carry prefixes; those of two processes that write at once are not told
apart. The format is the driver's own and nowhere documented; read here is what release 580 prints.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from gpudx.backends.mangling import demangle, function_name
from gpudx.evidence import _cuda_exceptions as exceptions
from gpudx.evidence._head import Source, head_of
from gpudx.evidence._lines import lines_of, plain
from gpudx.evidence._words import sourced
from gpudx.model import Access, Evidence, Finding

FORMAT = "cuda-coredump-progress"
MARK = b"coredump: "
LINE = re.compile(r"(?:\[(\d\d:\d\d:\d\d\.\d+)\] )?\bcoredump: (.*)")
MOST_EXCEPTIONS = 4096
MOST_FRAMES = 256

_EXCEPTION = re.compile(r"Detected an exception of type (\w+) \((\d+)\)")
_FIELD = re.compile(r"\s+- (Device|SM|Warp|PC):? (.+)")
_FRAME = re.compile(r"\s+#(\d+)\s+(0x[0-9a-fA-F]+)\s+(\S+)")
_MASKS = re.compile(r"Stack trace \(lane masks: active (0x[0-9A-Fa-f]+), valid (0x[0-9A-Fa-f]+)\)")
_COLLECTED = re.compile(r"SM (\d+)/(\d+) has finished")
_FILE = re.compile(r"Writing ELF file to (.+)")
_PERCENT = re.compile(r"(\d+)%")


@dataclass(frozen=True)
class Frame:
    """One frame of the device's stack."""

    pc: int
    function: str  # mangled


@dataclass(frozen=True)
class DeviceException:
    """One exception as it was announced. `warp` is None when it had exited; `pc` is the faulting instruction."""

    exception: str
    code: int
    device: int | None = None
    sm: int | None = None
    warp: int | None = None
    exited: bool = False
    pc: int | None = None
    active: int | None = None  # lane mask
    frames: tuple[Frame, ...] = ()

    @property
    def kernel(self) -> str | None:
        """The outermost function: the kernel, without parameters."""
        return function_name(self.frames[-1].function) if self.frames else None

    @property
    def signature(self) -> str | None:
        return demangle(self.frames[-1].function) if self.frames else None


@dataclass(frozen=True)
class Progress:
    """One dump in the making."""

    exceptions: tuple[DeviceException, ...] = ()
    file: str | None = None
    started: str | None = None  # time of day
    ended: str | None = None
    sms: tuple[int, int] | None = None  # collected, of all
    percent: int | None = None
    finished: bool = False
    last: str = ""  # what it was doing at the last line
    lines: int = 0


def sniff(source: Source) -> float:
    """1 when a line announces an exception or a dump, 0.5 for other progress lines."""
    head = head_of(source)
    if MARK + b"Detected an exception" in head or MARK + b"Starting GPU coredump" in head:
        return 1.0
    return 0.5 if re.search(rb"\[\d\d:\d\d:\d\d\.\d+\] coredump: ", head) else 0.0


def read(path: Path | str) -> tuple[Progress, ...]:
    """The dumps that a log tells of, in order. Raises UserError when the file cannot be read."""
    return parse(Path(path))


def parse(source: Source) -> tuple[Progress, ...]:
    """The same for a text."""
    found: list[_Dump] = []
    for line in lines_of(source):
        match = LINE.search(plain(line)) if MARK in line else None
        if match is None:
            continue
        text = match[2]
        if not found or text.startswith("Starting") or found[-1].finished:
            found.append(_Dump())
        found[-1].take(match[1], text)
    return tuple(dump.done() for dump in found)


class _Dump:
    """Collects the lines of one dump."""

    def __init__(self) -> None:
        self.exceptions: list[DeviceException] = []
        self.file: str | None = None
        self.started: str | None = None
        self.ended: str | None = None
        self.sms: tuple[int, int] | None = None
        self.percent: int | None = None
        self.finished = False
        self.last = ""
        self.lines = 0

    def take(self, time: str | None, text: str) -> None:
        self.lines, self.last = self.lines + 1, text
        self.started, self.ended = self.started or time, time or self.ended
        self.finished = self.finished or text.startswith("All done")
        if text.startswith((" ", "\t", "Stack trace")):
            self._about_exception(text)
        elif match := _EXCEPTION.match(text):
            if len(self.exceptions) < MOST_EXCEPTIONS:
                self.exceptions.append(DeviceException(match[1], _number(match[2])))
        else:
            self._about_file(text)

    def _about_exception(self, text: str) -> None:
        if not self.exceptions:
            return
        last = self.exceptions[-1]
        if match := _FIELD.match(text):
            last = _with_field(last, match[1], match[2].strip())
        elif match := _FRAME.match(text):
            frames = (*last.frames, Frame(_number(match[2]), match[3]))[:MOST_FRAMES]
            last = replace(last, frames=frames)
        elif match := _MASKS.match(text):
            last = replace(last, active=_number(match[1]))
        self.exceptions[-1] = last

    def _about_file(self, text: str) -> None:
        if match := _COLLECTED.match(text):
            self.sms = (_number(match[1]), _number(match[2]))
        elif match := _FILE.match(text):
            self.file = match[1].strip()
        elif match := _PERCENT.match(text):
            self.percent = min(_number(match[1]), 100)

    def done(self) -> Progress:
        return Progress(
            exceptions=tuple(self.exceptions),
            file=self.file,
            started=self.started,
            ended=self.ended,
            sms=self.sms,
            percent=self.percent,
            finished=self.finished,
            last=self.last.strip(),
            lines=self.lines,
        )


def _with_field(found: DeviceException, name: str, value: str) -> DeviceException:
    number = _number(value) if re.fullmatch(r"0x[0-9a-fA-F]+|\d+", value) else None
    if name == "Warp":
        return replace(found, warp=number, exited=number is None)
    if name == "PC":
        return replace(found, pc=number)
    return replace(found, device=number) if name == "Device" else replace(found, sm=number)


def _number(text: str) -> int:
    return int(text[:20], 0) if not text.isdigit() else int(text[:20])


def to_findings(dumps: tuple[Progress, ...], raw: str | None = None) -> tuple[Finding, ...]:
    """One finding per exception kind, kernel and dump; a dump that was cut off is a finding of its own.

    `raw` names the log's file in the case directory.
    """
    return sourced((finding for dump in dumps for finding in _findings(dump)), raw)


def _findings(dump: Progress) -> Iterator[Finding]:
    groups: dict[tuple[str, str | None, int | None], list[DeviceException]] = {}
    for found in dump.exceptions:
        groups.setdefault((found.exception, found.kernel, found.pc), []).append(found)
    for (name, kernel, pc), members in groups.items():
        yield _finding(name, kernel, pc, members)
    if not dump.finished:
        yield Finding(
            id="gpu-coredump-cut-off",
            severity="warning",
            message="The GPU core dump was not finished when the log ends: the program ended, or the log was cut.",
            evidence=(Evidence(f"the last line about the dump is: {dump.last}"),),
            facts=(("dump", "cut off"),),
        )


def _finding(name: str, kernel: str | None, pc: int | None, members: list[DeviceException]) -> Finding:
    first, meaning = members[0], exceptions.meaning_of(members[0].code)
    where = f"Kernel {kernel}" if kernel else "A kernel that is not named"
    warp = "a warp that had exited" if first.exited else f"warp {first.warp}"
    evidence = [Evidence(f"the driver announced {name} ({first.code}) on SM {first.sm}, {warp}, at {_hex(pc)}")]
    stack = " < ".join(frame.function for frame in first.frames)
    evidence += [Evidence(f"the device's stack: {stack}")] if stack else []
    return Finding(
        id=f"gpu-exception-{exceptions.short_name(name)}",
        severity="error",
        message=f"{where} failed: {meaning}.",
        evidence=tuple(evidence),
        count=len(members),
        facts=(("kernel", kernel or "?"), ("exception", exceptions.short_name(name))),
        access=Access(by="kernel", kernel=kernel or "", pc=pc, seen_by="dump"),
    )


def _hex(value: int | None) -> str:
    return "an unknown address" if value is None else f"{value:#x}"
