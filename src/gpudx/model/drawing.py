"""What reports draw and quote besides the case itself: taken from its traces when a report is made, and kept nowhere.

Columns are bytes of little-endian numbers, so that a million calls stay small and need no library to be carried on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Role = Literal["guilty", "victim", "evidence"]


@dataclass(frozen=True)
class Column:
    """Numbers of `width` bytes each, without a sign."""

    width: Literal[1, 2, 4, 8]
    data: bytes

    def __len__(self) -> int:
        return len(self.data) // self.width


@dataclass(frozen=True)
class Pin:
    """A call that the diagnosis speaks of: its row in the columns of a timeline."""

    role: Role
    row: int


@dataclass(frozen=True)
class Timeline:
    """The calls of one process that gave queues work, waited or failed, in order of time.

    columns: `gap` (to the begin of the row before; the first to the process's first call) and `span`, in `unit_ns`;
    `call`, the number of the call, as the gap to the row before; `name`, `queue` and `thread`, places in the tuples;
    `kind`, a place in KINDS, and `state`, bits of STATES.
    """

    pid: int
    command: str
    unit_ns: float
    columns: dict[str, Column]
    names: tuple[str, ...]
    queues: tuple[str, ...]
    threads: tuple[str, ...]
    pins: tuple[Pin, ...] = ()
    left_out: int = 0  # calls that only order queues
    merged: int = 1  # so many neighbouring calls of a queue are one row at most


KINDS = ("launch", "copy or fill", "wait", "other call")
STATES = ("failed", "in flight", "captured", "several")


@dataclass(frozen=True)
class Point:
    """An address that the diagnosis speaks of; `at` is its place on the map."""

    text: str
    address: int
    at: int


@dataclass(frozen=True)
class MemoryMap:
    """Blocks of one process's device memory, as of one call.

    columns: `begin` and `end`, places on the map, and `low` and `high`, those of the guards around it; `address`, `size`;
    `state`, a place in BLOCKS; `kind` and `number`, which make the name; `made` and `freed`, numbers of calls, 0 if none;
    `part`, 1 for a sub-buffer, which lies inside another block.
    """

    pid: int
    as_of: int  # a call's number
    by_address: bool  # else the API gives no addresses, and blocks stand in the order of their making
    width: int
    columns: dict[str, Column]
    kinds: tuple[str, ...]
    points: tuple[Point, ...] = ()
    near: tuple[tuple[str, ...], ...] = ()  # the blocks that matter most, as rows of NEAR
    not_placed: str = ""  # a fault address that lies near no block
    left_out: int = 0


BLOCKS = ("live", "freed", "too small", "named in the diagnosis")
NEAR = ("block", "address", "bytes", "state", "made by call", "freed by call", "where")


@dataclass(frozen=True)
class Decoded:
    """A call with all that it was given: named values, and the arguments as rows of ARGUMENTS."""

    values: tuple[tuple[str, str], ...]
    arguments: tuple[tuple[str, ...], ...] = ()


ARGUMENTS = ("argument", "type", "bytes", "value", "memory")


@dataclass(frozen=True)
class Excerpt:
    """Lines of a source file around the one that is meant."""

    place: str  # "path:line"
    first: int
    line: int
    lines: tuple[str, ...]
    changed: bool = False  # the file was written after the run


@dataclass(frozen=True)
class Drawing:
    """All of it for one case. `remarks` say what could not be drawn, and why."""

    timelines: tuple[Timeline, ...] = ()
    maps: tuple[MemoryMap, ...] = ()
    guilty: Decoded | None = None
    excerpt: Excerpt | None = None
    kernel: Excerpt | None = None  # the line of device code, where the excerpt is one of the host
    devices: tuple[str, ...] = ()  # by name, those that work was given to
    files: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
