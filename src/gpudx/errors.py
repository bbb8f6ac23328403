"""Errors that are the user's to fix: one sentence that names the next step, never a traceback. And our own, which cost as little as
possible: a bug in one part of the analysis costs that part, not the verdict."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

BUG = "gpudx-error.txt"  # in a case: what went wrong in gpudx itself
RAISE = "GPUDX_RAISE"  # tests see bugs as they are
Result = TypeVar("Result")


class UserError(Exception):
    """Shown as one line on stderr; the command ends with `exit_code`."""

    def __init__(self, message: str, exit_code: int = 2) -> None:
        super().__init__(message)
        self.exit_code = exit_code


_survived: list[tuple[str, str]] = []  # parts of the analysis that failed since they were reported last, with their tracebacks


def survived(part: str, work: Callable[[], Result], otherwise: Result) -> Result:
    """What `work` returns. Whatever goes wrong in it is kept for `bugs`, and the analysis goes on with `otherwise`."""
    try:
        return work()
    except UserError:
        raise
    except Exception:
        if os.environ.get(RAISE):
            raise
        _survived.append((part, traceback.format_exc()))
        return otherwise


def bugs(folder: Path) -> tuple[str, ...]:
    """A sentence for each part that failed since the last call; the tracebacks are kept in `folder`."""
    found = dict(_survived)
    _survived.clear()
    if not found:
        return ()
    place = keep(folder, "\n".join(found.values()))
    return tuple(f"{part} failed, which is a bug in gpudx: please report {place}." for part in found)


def keep(folder: Path, text: str) -> str:
    """The file with this traceback; the traceback itself where it cannot be written."""
    try:
        (folder / BUG).write_text(text)
    except OSError:
        return text
    return str(folder / BUG)
