"""Experiments: ways of running the program that tell causes apart. Adding a file, or a row to one, adds an experiment.

An experiment is a module here, or a Row in the table ROWS of a module whose experiments differ by a flag, with

    a docstring         what it changes in the run, what a changed outcome says, and what it does not say
    ID                  its name
    COST                how much longer a run takes, roughly
    missing(context)    why it cannot be run here, or None. Cannot be run is not the same as passed
    how(context)        how the program is run

and, where it needs them:

    MITIGATES           a run that no longer fails names no cause: what was changed only hides it
    without_effect(context, seen)   after a run: why it did not do what it should have done, or None. Such a run says nothing
    command(context)    the command, where it differs
    around(context)     a context manager for the time of the run; NotReached when it cannot be brought about
    ASKED               it needs the user's words, is run if they are passed, and only tells: no cause predicts anything there
    check(context)      before the first run: UserError where the words make no sense
    variants(context)   the ways of it, each with a rate of its own; context.variant says which one is run
    AGAINST             the experiment that its rate is compared with, where that is not the plain runs
    OUTPUT_COUNTS       in a program that never fails, a run that prints something else than all plain runs counts as a failure
    CHANGES_PROGRAM     it runs another program, so to speak: what is found in its runs is no fault of the user's
    EDITS_KERNELS       what it changes is the source of kernels, which are compiled again
    did(context)        what it does to this program, for people
    changed(context)    what it changes of this program, in words that follow "with"

Runs of experiments that change nothing but a setting belong into one file with ROWS: sanitizers, runtimes, fences, waits, order.
"""

from __future__ import annotations

import contextlib
import importlib
import pkgutil
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal, Protocol

from gpudx.kernel_checks.opposite_order import Launched
from gpudx.kernel_checks.word_changes import Change
from gpudx.model import Asked
from gpudx.model.how import Fence, How
from gpudx.model.read_back import ReadBack

PLAIN = "recorded"
UNCHECKED = "no run failed by a check of results"
SENTENCE_END = re.compile(r"[.:;](?: |$)| \(")  # of what an experiment does, without what is in parentheses
VARIANT = ":"  # between an experiment and its variant


class NotReached(Exception):
    """An experiment could not be brought about: why, without a full stop. It is not a pass."""


class Shelf(contextlib.ExitStack):
    """What an experiment makes once for all of its runs; taken away at the end."""

    def __init__(self) -> None:
        super().__init__()
        self._made: dict[str, Path | NotReached] = {}

    def once(self, name: str, make: Callable[[], contextlib.AbstractContextManager[Path]]) -> Path:
        """What `make` gave the first time. What could not be made is not tried again."""
        if name not in self._made:
            try:
                self._made[name] = self.enter_context(make())
            except NotReached as error:
                self._made[name] = error
        made = self._made[name]
        if isinstance(made, NotReached):
            raise made
        return made


@dataclass(frozen=True)
class Context:
    """What is known of the program before an experiment."""

    command: tuple[str, ...]
    environment: Mapping[str, str]
    how: How = field(default_factory=How)  # of the plain runs
    apis: frozenset[str] = frozenset()  # that it calls
    frameworks: frozenset[str] = frozenset()  # that it has loaded: "torch"
    threads: int = 0  # that made GPU calls in the process with most of them
    launches: int = 0
    devices: frozenset[str] = frozenset()
    turn: int = 0  # how often this experiment has been run before
    variant: str = ""
    asked: Asked = field(default_factory=Asked)
    template: tuple[str, ...] = ()  # the command with {NAME} not filled in
    folder: Path = field(default_factory=Path)  # the case's
    shelf: Shelf = field(default_factory=Shelf, compare=False)
    parts: bool = False  # it uses buffers by parts alone, which do not overlap
    pair: tuple[str, str] | None = None  # of an order finding: what holds its first operation, and what orders the two
    edges: tuple[str, ...] = ()  # of all order findings: what orders their two operations at every occurrence
    exchanges: tuple[str, ...] = ()  # arguments that may be in each other's place: "kernel:1:2"
    redirects: tuple[str, ...] = ()  # other buffers, directions and pitches of calls: "clEnqueueReadBuffer=4=0:3>2"
    redirected: tuple[str, ...] = ()  # the same in words
    has_lines: bool = False  # those were found with the line of every call known
    offsets: tuple[str, ...] = ()  # of copies, that may be in elements: "b:1024:2048:4"
    numbers: tuple[str, ...] = ()  # that kernels may have been meant to get: "kernel:1:4:5"
    edits: tuple[Change, ...] = ()  # of words in the sources of kernels
    switches: bool = True  # can they be switched on in one source?
    stuck: str = ""  # the kernel that a plain run hung in
    frees: bool = False  # it frees device memory before its last launch
    on_host: bool = False  # buffers work on the program's own memory
    transfers: tuple[str, ...] = ()  # that return early: their numbers by line, "" where that are too many
    sources: tuple[tuple[str, str], ...] = ()  # of kernels that were launched, with the options of their builds
    launched: tuple[Launched, ...] = ()  # the same by kernel
    suspected: frozenset[str] = frozenset()  # causes that the record makes likely
    back: ReadBack | None = None  # what plain runs read back
    candidates: tuple[int, ...] = ()  # buffers that the launch which faults may have missed: their allocations' numbers


@dataclass(frozen=True)
class Seen:
    """What a run of an experiment left in its record."""

    threads: int = 0  # that made GPU calls at the same time: between their first and last ones
    devices: frozenset[str] = frozenset()
    findings: frozenset[str] = frozenset()  # ids
    own_waits: int = 0  # of the recorder's
    done_at: tuple[int, ...] = ()  # of each process: bits of what was done at named calls
    not_done: tuple[str, ...] = ()  # why it was not, at others


class Experiment(Protocol):
    """What every experiment has; what it may have is listed above."""

    __name__: str
    __doc__: str | None
    ID: str
    COST: float

    def missing(self, context: Context) -> str | None: ...

    def how(self, context: Context) -> How: ...


class Row(SimpleNamespace):
    """An experiment in the table of a module: the same attributes that a module of its own would define."""

    def __init__(self, module: str, name: str, cost: float, text: str, **more: Any) -> None:
        super().__init__(__name__=module, __doc__=text, ID=name, COST=cost, **more)


def in_words(name: str) -> str:
    """ "experiment `serialised` (waits after each launch)": what it does, by the beginning of its own description."""
    known = every().get(name.partition(VARIANT)[0])
    sentence = SENTENCE_END.split(" ".join((known.__doc__ or "").split()) if known else "")[0]
    does = ", ".join(sentence.split(", ")[: 2 if sentence.startswith("As ") else 1])
    first = does.partition(" ")[0]
    does = does if first[1:] != first[1:].lower() else does[:1].lower() + does[1:]
    return f"experiment `{name}`" + (f" ({does})" if does else "")


def needs_gpu_calls(context: Context) -> str | None:
    """`missing` of experiments that do something to the memory of GPU APIs."""
    return None if context.apis else "the program makes no GPU calls"


def needs_launch(context: Context) -> str | None:
    """`missing` of experiments that look at what kernels do."""
    return needs_gpu_calls(context) or (None if context.launches else "the program launches no kernel")


def tried(how: How) -> How:
    """How one of many changes is tried: what the program reads back with it is compared with what it reads without."""
    return replace(how, is_try=True, read_back=True)


def between_fences(how: How, turn: int) -> How:
    """How a change that the program passed with is run again: with pages behind each buffer, then before each. With an access outside of
    its buffer a program may pass by chance."""
    edge: Literal["high", "low"] | None = "high" if turn == 1 else "low" if turn == 2 else None
    return replace(tried(how), fence=Fence(edge)) if edge and how.fence is None else tried(how)


@cache
def every() -> dict[str, Experiment]:
    """All experiments by name."""
    names = [m.name for m in pkgutil.iter_modules(__path__) if not m.name.startswith("_")]
    modules = [importlib.import_module(f"{__name__}.{name}") for name in names]
    found = [one for module in modules for one in getattr(module, "ROWS", (module,))]
    return {one.ID: one for one in sorted(found, key=lambda one: str(one.ID))}


def base(name: str) -> str:
    """The experiment, without its variant."""
    return name.partition(VARIANT)[0]


@cache
def against(name: str) -> str:
    """The experiment that another one's rate is compared with."""
    return str(getattr(every().get(base(name)), "AGAINST", PLAIN))


@cache
def mitigations() -> frozenset[str]:
    """Experiments that hide a failure when they help, and name no cause."""
    return frozenset(name for name, module in every().items() if getattr(module, "MITIGATES", False))
