"""What a backend says about tools and libraries: data only. `gpudx.lab` does the looking."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path


def _none() -> None:
    return None


def _no() -> bool:
    return False


@dataclass(frozen=True)
class Tool:
    """Something that `gpudx doctor` looks for.

    Either a program: its names are searched in PATH, then in `places` (patterns of directories), then below the
    Python packages (`wheel`, patterns of files). Or a `probe`: a Python file that a child process runs, so that a
    driver which crashes takes only the child with it. A probe prints one line for each thing it found and exits
    with 0, or says why there is nothing and exits with 3.
    """

    name: str
    use: str  # what it is good for here
    install: str  # how to get it
    programs: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    wheel: tuple[str, ...] = ()
    version: tuple[str, ...] = ("--version",)
    pattern: str = r"\d+\.\d+[\w.]*"
    probe: Path | None = None


@dataclass(frozen=True)
class Bundled:
    """An API library that came with a Python package: what to link, and what it needs in the environment."""

    library: Path
    environment: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Simulator:
    """A stand-in for an API's runtime where there is no device: C sources, built as the library `soname`. Kernels of the
    program are compiled a second time, for the processor, with the headers in `include`; `kernels` names the variable
    that lists what came of it."""

    sources: Path
    soname: str
    flags: tuple[str, ...]
    include: Path
    kernels: str
    environment: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Linking:
    """How C programs are built against an API: the library and header of the system, else what `bundled` finds."""

    library: str
    header: str
    ready: Callable[[], bool]  # does the system have a driver behind its library?
    bundled: Callable[[], Bundled | None]
    install: str
    runs_without_kernels: Callable[[], bool] = _no  # is there a driver for programs in Python that compile nothing?
    compiler: dict[str, str] = field(default_factory=dict)  # what the API's own compiler needs in its environment
    simulator: Callable[[], Simulator | None] = _none


@dataclass(frozen=True)
class Fault:
    """A fault of the device that its runtime or kernel driver told: `bytes` from `address` on hold it."""

    address: int
    bytes: int
    reason: str
    writes: bool | None = None  # None: not told
    process: tuple[int, str] | None = None  # of a line in the kernel's log: whose fault it was, by number and name
    said: str = ""  # the line, where it is not the runtime's


@dataclass(frozen=True)
class BuildError:
    """A message of a driver's compiler. `line` is 0 where it names none; `file` is "" for the text that the program passed in."""

    said: str
    line: int = 0
    column: int = 0
    file: str = ""


@dataclass(frozen=True)
class QueueAbort:
    """A queue that its runtime shut down because its work failed: `does` completes "a kernel ...", `said` is what was printed."""

    status: str
    does: str
    cause: str
    said: str


@dataclass(frozen=True)
class Assertion:
    """A failed assertion of one thread of the device. `function` is what holds it: a kernel, or a function that one calls."""

    source: str  # file:line
    function: str  # as the compiler spells it, with its parameters
    condition: str
    block: str
    thread: str
