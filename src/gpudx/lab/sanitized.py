"""Running the program under compute-sanitizer, and the recorder in it all the same.

    gpudx -> the tool -> (its helpers) -> inner.py -> the program

The process that gpudx starts is the tool's, so the program's own process and status come from `inner`. Nothing of the
tool's processes may be taken for the program's: the recorder is preloaded into them too.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gpudx.backends.cuda import sanitizer
from gpudx.errors import UserError
from gpudx.lab import inner
from gpudx.lab.probe import look_for
from gpudx.model.how import Sanitizer

FOLDER = "sanitizer"  # in the case directory: the reports, and what `inner` told
TOLD = "program"
QUIET_S = 1.0


@dataclass(frozen=True)
class Sanitized:
    """How the tool itself ended: its status as RunResult.returncode has it, None if it was not waited for."""

    sanitizer: Sanitizer
    returncode: int | None


@dataclass(frozen=True)
class Inner:
    """The program below the tool. `pid` is 0 when it was never started, `refused` why not, as an error number."""

    pid: int = 0
    launchers: frozenset[int] = frozenset()
    returncode: int | None = None
    refused: int | None = None


def find(check: str, kernel: str | None = None) -> Sanitizer:
    """The tool, ready for a check. UserError when it is not installed, or does not work."""
    sanitizer.check_named(check)
    if kernel:
        sanitizer.kernel_filter(kernel)
    found = look_for(sanitizer.TOOL)
    if found.state == "not found":
        raise UserError(f"{sanitizer.NAME} is not installed: {sanitizer.TOOL.install}, or install the CUDA toolkit.")
    if found.state == "broken":
        text = (
            f"{sanitizer.NAME} does not work ({'; '.join(found.lines)}): install another with {sanitizer.TOOL.install}."
        )
        raise UserError(text)
    return Sanitizer(check, found.path, found.version, kernel)


def command(wanted: Sanitizer, folder: Path, program: Path, words: Sequence[str]) -> list[str]:
    """The command line that runs `program` with the arguments `words` below the tool; it writes into `folder`."""
    below = [sys.executable, "-I", "-S", str(inner.__file__), str(folder / TOLD), str(program), *words]
    return sanitizer.command(wanted.path, wanted.check, folder, wanted.kernel, below)


def read(folder: Path) -> Inner:
    """What `inner` told; nothing when the tool did not get as far."""
    lines: list[list[str]] = []
    with contextlib.suppress(OSError):
        lines = [line.split() for line in (folder / TOLD).read_text().splitlines()]
    told = {words[0]: [int(word) for word in words[1:]] for words in lines if words}
    pid, *launchers = told.get("started") or [0]
    ended, refused = told.get("ended"), told.get("refused")
    status = os.waitstatus_to_exitcode(ended[0]) if ended else None
    return Inner(pid, frozenset(launchers), status, refused[0] if refused else None)


class Reported:
    """Has the tool reported faults, and nothing more for a while? With millions of faults it counts them for minutes after the last
    one that it prints (seen with 2025.3)."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._sizes: dict[str, int] = {}
        self._since = time.monotonic()

    def __call__(self) -> bool:
        sizes = {file.name: file.stat().st_size for file in self._folder.glob("*.txt")}
        if sizes != self._sizes:
            self._sizes, self._since = sizes, time.monotonic()
        return time.monotonic() - self._since > QUIET_S and any(map(sanitizer.has_records, self._folder.glob("*.txt")))


def is_the_tools(pid: int, path: str, launchers: frozenset[int]) -> bool:
    """Is this process the tool's, and not the program's?"""
    return pid in launchers or sanitizer.is_own(path)
