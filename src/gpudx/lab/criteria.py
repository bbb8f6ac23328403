"""What "wrong" means to the user, for programs that exit with 0 all the same: --check, --compare and --expect."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

from gpudx.errors import UserError
from gpudx.model import Asked

OUTPUT = "GPUDX_OUTPUT"  # for --check: the file with what the program printed
CHECK_S = 60.0


def refuse_nonsense(asked: Asked) -> None:
    """Before the first run: words that cannot be used."""
    try:
        re.compile(asked.expect)
    except re.error as error:
        raise UserError(
            f"--expect {asked.expect!r} is not a regular expression ({error}): escape special characters with \\."
        ) from None
    for _, good in _compared(asked):
        if not good.is_file():
            raise UserError(f"--compare: there is no file {good}: give a copy of the right output, or FILE=GOOD.")


def wrong(asked: Asked, output: Path, environment: Mapping[str, str]) -> str:
    """What is wrong with a run that exited with 0, in words that continue "but"; "" if nothing is."""
    for written, good in _compared(asked):
        text = _different(written or output, good, "its output" if written is None else str(written))
        if text:
            return text
    if asked.expect and not re.search(asked.expect, output.read_text(errors="replace"), re.MULTILINE):
        return f"nothing that it printed matches {asked.expect!r} (--expect)"
    return _checked(asked.check, output, environment) if asked.check else ""


def _compared(asked: Asked) -> list[tuple[Path | None, Path]]:
    """A file that the program writes (None: what it prints), and the good copy."""
    if not asked.compare:
        return []
    written, equals, good = asked.compare.rpartition("=")
    return [(Path(written), Path(good))] if equals and written else [(None, Path(asked.compare))]


def _different(written: Path, good: Path, name: str) -> str:
    try:
        ours = written.read_bytes()
    except OSError:
        return f"it did not write {written} (--compare)"
    wanted = good.read_bytes()
    if ours == wanted:
        return ""
    mine, theirs = ours.split(b"\n"), wanted.split(b"\n")
    line = next(
        (n for n, (a, b) in enumerate(zip(mine, theirs, strict=False), 1) if a != b), min(len(mine), len(theirs)) + 1
    )
    return f"{name} differs from {good} at line {line} (--compare)"


def _checked(command: str, output: Path, environment: Mapping[str, str]) -> str:
    """The user's own command decides by its exit status."""
    try:
        done = subprocess.run(
            command,
            shell=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **environment, OUTPUT: str(output)},
            timeout=CHECK_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"{command!r} did not end within {CHECK_S:.0f} s (--check)"
    return f"{command!r} exited with status {done.returncode} (--check)" if done.returncode else ""
