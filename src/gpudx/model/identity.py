"""Who ran, with what: the files that were loaded, what they were built from, and what was set around them.

Times are seconds since 1970, 0 where they are not known. What could not be known is one sentence in `unknown`, never a guess.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from gpudx.model.fields import LATER

ProbeKind = Literal["text", "symbol", "line"]
ProbeState = Literal["absent", "not reached", "present", "fired", "unknown"]
# Why a source that is newer than what was built from it counts, or does not. "content": its checksum is another one.
Newer = Literal["content", "edited", "committed", "checked out", "copied"]


@dataclass(frozen=True)
class Source:
    """A source file that is not, or may not be, the one that an object was built from."""

    path: str
    modified: float
    why: Newer

    @property
    def counts(self) -> bool:
        """A checkout, a clone or a copy gives old content a new time, and says nothing."""
        return self.why in ("content", "edited", "committed")


@dataclass(frozen=True)
class Making:
    """What an object says of its making, in its debug information. `sources` counts those that are there to compare."""

    folders: tuple[str, ...] = ()
    compilers: tuple[str, ...] = ()  # with their flags, where these were recorded
    sources: int = 0
    newer: tuple[Source, ...] = ()

    @property
    def stale(self) -> tuple[Source, ...]:
        return tuple(source for source in self.newer if source.counts)


@dataclass(frozen=True)
class LoadedObject:
    """A file that was loaded as code. `own`: not of the system, a package or a toolkit."""

    path: str
    processes: tuple[int, ...] = ()
    executable: bool = False
    own: bool = False
    sha256: str = ""
    build_id: str = ""
    size: int = 0
    modified: float = 0.0
    started: float = 0.0  # when it was first run, or its process first called a GPU
    revision: str = ""
    dated: str = ""  # a date that was built in
    compilers: tuple[str, ...] = ()
    architectures: tuple[str, ...] = ()  # of device code
    built: Making | None = None
    tree: str = ""  # the repository it lies in
    committed: bool = False  # is the file itself part of that repository?
    unknown: str = ""


@dataclass(frozen=True)
class SourceTree:
    """A git repository around what ran. `dirty` is None where git could not say."""

    root: str
    head: str = ""
    committed: float = 0.0
    dirty: bool | None = None
    shallow: bool = False
    unknown: str = ""


@dataclass(frozen=True)
class Package:
    """Of an interpreter, as its folder of metadata has it. `loaded`: an object of it was loaded."""

    name: str
    version: str
    folder: str
    loaded: bool = False


@dataclass(frozen=True)
class Driver:
    """A device and what drives it, or a driver that is registered and what is known of it."""

    api: str
    name: str
    version: str = ""
    problem: str = ""


@dataclass(frozen=True)
class Setting:
    """An environment variable that changes what GPUs, drivers or loaders do."""

    name: str
    value: str
    meaning: str
    source: str


@dataclass(frozen=True)
class Step:
    """A build tool that ran before a program did. `status` is None where its end was not seen."""

    tool: str
    pid: int
    began: float
    ended: float
    status: int | None
    compiled: bool  # did a compiler or linker run below it?


@dataclass(frozen=True)
class Probe:
    """A mark that the user put into the program. `said` is the sentence."""

    text: str
    kind: ProbeKind
    state: ProbeState
    said: str
    count: int = 0
    places: tuple[str, ...] = ()  # where it is: objects, files, lines of output
    sources: tuple[str, ...] = ()  # "file:line" of sources that have it


@dataclass(frozen=True)
class Lack:
    """A text that a program's sources have, and nothing that ran. `conditional`: only some builds of them need have it."""

    text: str
    place: str  # "file:line"
    program: str
    conditional: bool = False


@dataclass(frozen=True)
class Identity:
    """All of it, for one run."""

    objects: tuple[LoadedObject, ...] = ()
    trees: tuple[SourceTree, ...] = ()
    interpreters: tuple[str, ...] = ()
    packages: tuple[Package, ...] = ()
    drivers: tuple[Driver, ...] = ()
    settings: tuple[Setting, ...] = ()
    steps: tuple[Step, ...] = ()
    probes: tuple[Probe, ...] = ()
    unknown: tuple[str, ...] = ()
    lacks: tuple[Lack, ...] = field(default=(), metadata=LATER)

    def executables(self) -> tuple[LoadedObject, ...]:
        return tuple(one for one in self.objects if one.executable)
