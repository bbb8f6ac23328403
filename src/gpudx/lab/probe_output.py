"""What the program wrote, searched for marks that the user asked about (--probe), and passed on unchanged.

A file that the program writes to is read afterwards. A pipe is replaced by a pipe, a terminal by a terminal: the program gets
the same answer when it asks what it writes to. What goes to the same place keeps its order, because it then goes through one
pipe. Nothing of this happens without --probe. Limit: a process that goes on writing after the program has ended loses its
reader when gpudx ends.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import select
import stat
import termios
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpudx.model.identity import ProbeKind

MOST_PLACES = 20
LONGEST_LINE = 1 << 20
SETTLES_S = 0.2  # how long an open pipe must be silent after the program's end
STREAMS = {1: "stdout", 2: "stderr"}

SYMBOL, TEXT = "sym:", "text:"
LINE = re.compile(r"(?P<file>[^\s:]+\.[A-Za-z]\w{0,4}):(?P<line>\d{1,7})")

Actions = list[tuple[int, int, int]]


def parse(wanted: str) -> tuple[ProbeKind, str, int]:
    """What --probe asks about: (kind, text or name or file, line)."""
    if wanted.startswith(SYMBOL):
        return "symbol", wanted.removeprefix(SYMBOL), 0
    match = LINE.fullmatch(wanted)
    return ("line", match["file"], int(match["line"])) if match else ("text", wanted.removeprefix(TEXT), 0)


@dataclass
class Mark:
    """How often a text was written, and where first."""

    count: int = 0
    places: list[str] = field(default_factory=list)


@dataclass
class _Scanner:
    """Counts texts in a stream, line by line."""

    name: str
    marks: dict[str, Mark]
    line: int = 0
    rest: bytes = b""

    def feed(self, data: bytes) -> None:
        whole, newline, self.rest = (self.rest + data).rpartition(b"\n")
        if newline:
            self._look(whole)
        if len(self.rest) > LONGEST_LINE:
            self.rest = self.rest[-LONGEST_LINE:]

    def end(self) -> None:
        if self.rest:
            self._look(self.rest)
            self.rest = b""

    def _look(self, lines: bytes) -> None:
        texts = {text: os.fsencode(text) for text in self.marks}
        if any(wanted in lines for wanted in texts.values()):
            for number, line in enumerate(lines.split(b"\n"), self.line + 1):
                for text, wanted in texts.items():
                    self._count(text, line.count(wanted), number)
        self.line += lines.count(b"\n") + 1

    def _count(self, text: str, times: int, number: int) -> None:
        mark = self.marks[text]
        mark.count += times
        if times and len(mark.places) < MOST_PLACES:
            mark.places.append(f"{self.name} line {number}")


class Listener:
    """Stands between the program and what it writes to."""

    def __init__(self, probes: Sequence[str], output: Path | None = None) -> None:
        self.marks = {text: Mark() for kind, text, _ in map(parse, probes) if kind == "text"}
        self.actions: Actions = []  # for the start of the program
        self._output = output
        self._ended = threading.Event()
        self._threads: list[threading.Thread] = []
        self._given: list[int] = []  # ends of pipes that only the program should have
        self._files: list[tuple[str, str, int]] = []  # stream, file, where it begins
        if output is None and self.marks:
            self._stand_between()

    def _stand_between(self) -> None:
        kinds = {number: os.fstat(number) for number in STREAMS if _is_open(number)}
        same = len(kinds) == 2 and len({(s.st_dev, s.st_ino) for s in kinds.values()}) == 1
        groups = [(1, 2)] if same else [(number,) for number in kinds]
        for numbers in groups:
            name = "output" if same else STREAMS[numbers[0]]
            if stat.S_ISREG(kinds[numbers[0]].st_mode):
                self._files.append((name, f"/proc/self/fd/{numbers[0]}", _begin(numbers[0])))
            else:
                self._replace(name, numbers)

    def _replace(self, name: str, numbers: tuple[int, ...]) -> None:
        here, there = _terminal(numbers[0]) if os.isatty(numbers[0]) else os.pipe()
        self._given.append(there)
        self.actions += [(os.POSIX_SPAWN_DUP2, there, number) for number in numbers]
        scanner = _Scanner(name, self.marks)
        self._threads.append(threading.Thread(target=self._pass_on, args=(here, numbers[0], scanner), daemon=True))

    def begin(self) -> None:
        """The program has started: it has its ends now."""
        for descriptor in self._given:
            os.close(descriptor)
        for thread in self._threads:
            thread.start()

    def finish(self) -> dict[str, Mark]:
        """The program has ended: read what is left, and what went into files."""
        self._ended.set()
        for thread in self._threads:
            thread.join()
        files = [("output", str(self._output), 0)] if self._output and self.marks else self._files
        for name, path, begin in files:
            self._read(_Scanner(name, self.marks), path, begin)
        return self.marks

    def _pass_on(self, here: int, to: int, scanner: _Scanner) -> None:
        for data in _pieces(here, self._ended):
            scanner.feed(data)
            if not _write(to, data):
                break  # nobody reads us: the program is to hear of it from its own write
        scanner.end()
        os.close(here)

    def _read(self, scanner: _Scanner, path: str, begin: int) -> None:
        with contextlib.suppress(OSError), open(path, "rb") as file:
            file.seek(begin)
            while data := file.read(1 << 20):
                scanner.feed(data)
        scanner.end()


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


def _begin(number: int) -> int:
    """Where in a file the program will begin to write."""
    appends = fcntl.fcntl(number, fcntl.F_GETFL) & os.O_APPEND
    return os.fstat(number).st_size if appends else os.lseek(number, 0, os.SEEK_CUR)


def _terminal(like: int) -> tuple[int, int]:
    """A terminal of the same kind and size; what is written to it is changed by the real one only."""
    here, there = os.openpty()
    with contextlib.suppress(termios.error, OSError):
        attributes = termios.tcgetattr(like)
        attributes[1] &= ~termios.OPOST
        termios.tcsetattr(there, termios.TCSANOW, attributes)
        fcntl.ioctl(there, termios.TIOCSWINSZ, fcntl.ioctl(like, termios.TIOCGWINSZ, b"\0" * 8))
    return here, there


def _pieces(here: int, ended: threading.Event) -> Iterator[bytes]:
    """What comes, until the last writer is gone, or the program is and nothing comes any more."""
    while True:
        ready = select.select([here], [], [], SETTLES_S)[0]
        if not ready:
            if ended.is_set():
                return
            continue
        try:
            data = os.read(here, 1 << 16)
        except OSError:  # EIO: the other end of a terminal was closed
            return
        if not data:
            return
        yield data


def _write(to: int, data: bytes) -> bool:
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(to, view) :]
        except BlockingIOError:
            select.select([], [to], [])
        except OSError:
            return False
    return True
