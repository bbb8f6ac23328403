"""One file per test runner: how its tests are listed, chosen, ordered, run in parallel, and how its results are read.

A runner is a module here. Adding a file adds a runner. It has

    a docstring                 what it relies on, and what it cannot do
    ID                          its name
    ORDERED                     tests run in the order in which they are named
    SHUFFLES                    where it is not ORDERED: it can draw its own order
    SHARES_PROCESS              tests run in one process, so that one can spoil the next
    fits(words)                 is this a command of this runner?
    tests(words)                the names of the tests, in the suite's own order; UserError when they cannot be listed
    start(words, selection)     the command that runs this selection
    report(selection)           words behind it that make the runner write its results into the selection's folder
    results(selection, output)  what became of each test, from the report that the run wrote, else from what it printed
    runs_parallel(words)        does the command itself run tests at the same time?
    parallel(words)             how tests can be run at the same time: "threads" of one process, "processes", or "" if not
    mitigations(words, kind, names)   lines that hide such a failure in this runner: never a cause, always said to be none
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import ModuleType

LONGEST_TEXT = 2000  # kept of what a failing test says
BLACK_BOX = "command"


@dataclass(frozen=True)
class Selection:
    """What to run. `tests` None is the suite as the command has it; `threads` None is as the command has it."""

    tests: tuple[str, ...] | None
    threads: int | None
    seed: int | None  # the runner's own shuffle, for those that cannot be given an order
    folder: Path  # for the runner's report


@dataclass
class Results:
    """Marks by test (gpudx.model.flake), what failing tests said, the order in which they ran, who had begun and not ended."""

    marks: dict[str, str] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    order: list[str] = field(default_factory=list)
    running: set[str] = field(default_factory=set)
    died: bool = False  # a process of tests died, and the runner itself did not

    def begin(self, name: str) -> None:
        """A test has begun."""
        self.order.append(name)
        self.running.add(name)

    def end(self, name: str, mark: str, text: str = "") -> None:
        """A test has ended."""
        if name not in self.running and name not in self.marks:
            self.order.append(name)
        self.running.discard(name)
        self.marks[name] = mark
        if text:
            self.texts[name] = text[:LONGEST_TEXT]


@cache
def every() -> dict[str, ModuleType]:
    """All runners by name."""
    names = sorted(m.name for m in pkgutil.iter_modules(__path__) if not m.name.startswith("_"))
    modules = [importlib.import_module(f"{__name__}.{name}") for name in names]
    return {module.ID: module for module in modules}


def runner_of(words: Sequence[str]) -> ModuleType:
    """The runner that a command is of; any command is at least something that passes or fails."""
    others = (module for name, module in every().items() if name != BLACK_BOX)
    return next((module for module in others if module.fits(words)), every()[BLACK_BOX])
