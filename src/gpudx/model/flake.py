"""Flaky tests: in which conditions tests were run, what each run gave, and what is concluded for each test."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

FLAKE = "gpudx.flake/1"

# What became of a test in one run, a letter each.
PASSED, FAILED, CRASHED, HUNG = ".", "F", "C", "T"
AMONG = "?"  # was running, among others, when the process ended: nobody knows whose fault that was
NOT_RUN = "-"
BAD = frozenset((FAILED, CRASHED, HUNG))
KNOWN = frozenset((PASSED, *BAD))

PROCESS = "(the process)"  # stands for deaths of a process in which several tests were running
MOST_TOLD = 2000  # tests with a result of their own

Kind = Literal[
    "deterministic",
    "order-dependent",
    "concurrency-dependent",
    "resource-dependent",
    "environment",
    "cascade",
    "random",
    "not settled",
]


@dataclass(frozen=True)
class Condition:
    """One way to run tests. `threads` None is as the command has it, 0 is as many as there should be in parallel."""

    name: str
    what: str
    threads: int | None = None
    order: Literal["given", "shuffled", "reversed"] = "given"
    busy: bool = False  # a second copy of the suite runs at the same time
    serialise: bool = False
    perturb: bool = False


PLAIN = Condition("as-is", "the command as it was passed")
ONE = Condition("one-thread", "one test at a time, in one process", threads=1)
MANY = Condition("parallel", "many tests at a time", threads=0)
SHUFFLED = Condition("shuffled", "one test at a time, in random order", threads=1, order="shuffled")
REVERSED = Condition("reversed", "one test at a time, in reverse order", threads=1, order="reversed")
ALONE = Condition("alone", "each test in a fresh process", threads=1)
BUSY = Condition("busy", "one test at a time, while a second copy of the suite runs", threads=1, busy=True)
SERIALISED = Condition("serialised", "many at a time, with a wait after each launch", threads=0, serialise=True)
PERTURBED = Condition("perturbed", "many at a time, with small random delays before launches", threads=0, perturb=True)
SWEEP = tuple(Condition(f"threads-{n}", f"{n} tests at a time", threads=n) for n in (2, 4, 8, 16, 32, 64))
EVERY = {c.name: c for c in (PLAIN, ONE, *SWEEP, MANY, SHUFFLED, REVERSED, ALONE, BUSY, SERIALISED, PERTURBED)}


@dataclass(frozen=True)
class Accused:
    """A cause that the record of a run shows. `kernel` is what a test must touch for this to explain its failures."""

    cause: str
    status: str
    summary: str
    kernel: str | None = None


@dataclass(frozen=True)
class Look:
    """What the record of a run says."""

    kernels: tuple[str, ...] = ()  # that were launched or given arguments
    shared: tuple[str, ...] = ()  # objects that several threads used, in words
    accused: tuple[Accused, ...] = ()
    threads: int = 0  # that made GPU calls in one process
    calls: int = 0


@dataclass(frozen=True)
class Batch:
    """One run of the suite or of a part of it: a line of the journal. Tests are numbers in the suite's own order."""

    condition: str
    marks: str  # a letter for each test
    tests: tuple[int, ...] = ()  # in the order asked for; empty: the whole suite in its own order
    purpose: str = ""  # the question that it is a part of; "" counts for the rates
    order: tuple[int, ...] = ()  # in which they ran, where it is told and differs
    ending: str = ""
    seconds: float = 0.0
    number: int = 0  # of the run: only the first result of a number counts
    folder: str = ""
    texts: dict[str, str] = field(default_factory=dict)  # what failing tests said, by number
    strangers: tuple[str, ...] = ()  # other programs that had a GPU open at the time
    died: bool = False  # with several tests running
    look: Look | None = None


@dataclass(frozen=True)
class Suite:
    """What is run, and how it can be run. The first line of the journal."""

    command: tuple[str, ...]
    runner: str
    tests: tuple[str, ...]
    conditions: tuple[str, ...]  # names, those that can be had
    missing: tuple[tuple[str, str], ...] = ()  # conditions that cannot, and why
    shares_process: bool = True  # tests run one after another in one process, so that one can spoil the next
    ordered: bool = True  # tests run in the order in which they are named
    plain_parallel: bool = False  # the command itself runs tests at the same time
    parallel_is: str = "threads"  # or processes
    threads: int = 8
    parallel_option: str = ""  # how the user says the number of threads is told
    confidence: float = 0.99
    folder: str = ""
    program: str = ""
    lot: int = 0
    schema: str = FLAKE


@dataclass(frozen=True)
class Cell:
    """A test in a condition: k of n, with the rates that fit at the stated confidence, at every look at once."""

    condition: str
    failures: int
    runs: int
    low: float
    high: float


@dataclass(frozen=True)
class FlakyTest:
    """A test that failed at least once, and why as far as that is known."""

    name: str
    kind: Kind
    summary: str
    cells: tuple[Cell, ...]
    partners: tuple[str, ...] = ()  # the tests that it takes, the smallest set that was found
    because: tuple[str, ...] = ()
    error: str = ""  # magnitudes of numeric failures
    said: str = ""  # the first words of its first failure
    cause: str = ""  # the cause that explains it
    next_step: str = ""


@dataclass(frozen=True)
class Blame:
    """A proposed cause against all tests of its kind."""

    cause: str
    status: str
    summary: str
    kernel: str | None
    pair: tuple[str, ...]  # the tests whose run showed it
    shared: tuple[str, ...]
    explains: tuple[str, ...]
    unexplained: tuple[str, ...]
    unknown: tuple[str, ...] = ()  # tests whose own calls are not known


@dataclass(frozen=True)
class Flake:
    """The result."""

    runner: str
    tests: int
    confidence: float
    runs: int
    seconds: float
    stopped: str
    conditions: tuple[Cell, ...]  # runs in which any test failed
    results: tuple[FlakyTest, ...] = ()
    followers: dict[str, int] = field(default_factory=dict)  # first fault -> tests that only follow it
    blames: tuple[Blame, ...] = ()
    mitigations: tuple[str, ...] = ()
    missing: tuple[tuple[str, str], ...] = ()
    quiet: str = ""  # what so many passes leave open
