"""A build command of the user's, run in a shell. What it says goes into a file of the case."""

from __future__ import annotations

import contextlib
from pathlib import Path

from gpudx.lab.experiments import NotReached
from gpudx.lab.probe import ask

PATIENCE_S = 1800.0


def build(command: str, where: Path, said: Path) -> None:
    """NotReached when it fails: a build that failed is not a program that passed."""
    answer = ask(["/bin/sh", "-c", command], cwd=where, patience=PATIENCE_S)
    with contextlib.suppress(OSError):
        said.write_text(answer.out + answer.err)
    if answer.problem:
        raise NotReached(f"the build `{command}` {answer.problem}; its output is in {said}")
