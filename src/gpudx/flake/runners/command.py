"""Any other command: one test, which passes if the command ends with 0."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gpudx.flake.runners import Results, Selection

ID = "command"
ORDERED = False
SHARES_PROCESS = False
NAME = "the command"


def fits(words: Sequence[str]) -> bool:
    return True


def tests(words: Sequence[str]) -> list[str]:
    return [NAME]


def start(words: Sequence[str], selection: Selection) -> list[str]:
    return list(words)


def report(selection: Selection) -> list[str]:
    return []


def results(selection: Selection, output: Path) -> Results:
    """Nothing is reported about tests: how the process ended says it all."""
    return Results(running={NAME}, order=[NAME])


def runs_parallel(words: Sequence[str]) -> bool:
    return False


def parallel(words: Sequence[str]) -> str:
    return ""


def mitigations(words: Sequence[str], kind: str, names: Sequence[str]) -> list[str]:
    return []
