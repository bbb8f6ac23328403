"""One run of many: recorded like any other, its output in a file, and what it counts as.

Each run has a folder of its own, with the case that `gpudx run` would have written. Of runs that ended alike only the
first recordings are kept: a thousand runs would fill a disk.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import random
import shlex
import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from gpudx.errors import UserError
from gpudx.lab import program
from gpudx.lab.outcome import outcome
from gpudx.lab.recorded import Progress, RunResult, run_recorded
from gpudx.model import Case
from gpudx.model.how import How
from gpudx.model.verification import Condition, Trial

OUTPUT = "output.txt"
RUNS = "runs"
KEPT = 2  # recordings of each way to end
TAIL_BYTES = 16384
NOT_STARTED = (program.NOT_FOUND, program.NOT_EXECUTABLE)  # a shell's words for "this could not be run"

Analyse = Callable[[RunResult, list[str], Path], Case | None]


class Interrupted(Exception):
    """Somebody wanted to end the run; it is not counted."""


def words_of(text: str) -> tuple[str, ...]:
    """A command line as a shell would split it. UserError when its quotes are not closed, or its program is not there."""
    try:
        words = tuple(shlex.split(text))
    except ValueError as error:
        raise UserError(f"{text!r} is not a command line ({error}): quote it as for a shell.") from None
    program.find(list(split(words)[1]))
    return words


def split(words: Sequence[str]) -> tuple[dict[str, str], tuple[str, ...]]:
    """NAME=value words in front, as a shell takes them, and the command."""
    count = 0
    while count < len(words) and words[count].partition("=")[0].isidentifier() and "=" in words[count]:
        count += 1
    return {w.partition("=")[0]: w.partition("=")[2] for w in words[:count]}, tuple(words[count:])


def identity(words: Sequence[str]) -> str:
    """The sha256 of the file that a command starts."""
    try:
        with program.find(list(split(words)[1])).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""  # it may be run but not read


def order(lot: int, number: int, conditions: Iterable[Condition]) -> list[Condition]:
    """Who goes first in a round: drawn by lot, the same lot when the round is taken up again."""
    drawn = sorted(conditions)
    random.Random(f"{lot} {number}").shuffle(drawn)
    return drawn


def run_trial(
    condition: Condition,
    number: int,
    words: Sequence[str],
    case_dir: Path,
    timeout: float | None,
    analyse: Analyse,
    on_progress: Progress | None = None,
) -> Trial:
    """Run a command once. UserError when it cannot be started: that is neither a pass nor a failure."""
    folder = case_dir / RUNS / f"{number:04}-{condition}"
    shutil.rmtree(folder, ignore_errors=True)  # of a run that was interrupted
    folder.mkdir(parents=True)
    environment, command = split(words)
    how = How(timeout=timeout, extra_env=environment, output=folder / OUTPUT)
    run = run_recorded(list(command), folder, how, on_progress)
    if run.interrupted:
        raise Interrupted
    if not run.timed_out and run.returncode in NOT_STARTED:
        last = "; ".join(tail(folder, 1)) or "it printed nothing"
        raise UserError(
            f"The command of --{condition} ended with status {run.returncode}, which says that something in it could not"
            f" be started ({last}): this is neither a pass nor a failure; see {folder / OUTPUT}."
        )
    case = analyse(run, list(command), folder)
    found = _of_case(case) if case else _of_run(run)
    return replace(found, condition=condition, round=number, duration_s=run.duration_s, folder=f"{RUNS}/{folder.name}")


def _of_case(case: Case) -> Trial:
    counted = [entry for entry in case.diagnosis if entry.status != "refuted" and entry.findings]
    faults = tuple(dict.fromkeys(name for entry in counted for name in entry.findings))
    watched = not any(one.failed for one in case.instruments)
    summary = counted[0].summary if counted else case.outcome.summary
    return Trial("before", 0, case.outcome.word, faults, summary, watched)


def _of_run(run: RunResult) -> Trial:
    """The analysis could not be done: how it ended is all there is."""
    ended = outcome(run)
    return Trial("before", 0, ended.word, (), ended.summary, False)


def tail(folder: Path, lines: int) -> list[str]:
    """The last lines that a run wrote."""
    try:
        with (folder / OUTPUT).open("rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - TAIL_BYTES))
            return file.read().decode(errors="replace").splitlines()[-lines:]
    except OSError:
        return []


def forget(trial: Trial, earlier: Iterable[Trial], case_dir: Path) -> None:
    """Remove the recording of a run that ended as others did whose recordings are kept."""
    alike = [t for t in earlier if (t.condition, t.names[0]) == (trial.condition, trial.names[0])]
    if len(alike) >= KEPT:
        with contextlib.suppress(OSError):
            shutil.rmtree(case_dir / trial.folder / "traces")
