"""Looking at the program's processes from outside: which executable runs in them, and which models they have open.

The recorder notes the images it is in. An image it is not in (a static program started by a shell) leaves no note,
so /proc is asked now and then, often at first and once a second later. What lives shorter than that is not seen.
"""

from __future__ import annotations

import contextlib
import os
import time
from dataclasses import dataclass

from gpudx.evidence.models import is_model

FIRST_PAUSE_S = 0.005
LONGEST_PAUSE_S = 1.0
MOST_PROCESSES = 256
MOST_FILES = 256
MOST_ENVIRONMENT = 1 << 20  # bytes
# Where launchers put a process's number: torchrun, Open MPI, PMIx, MPICH and Intel MPI, Slurm, MVAPICH.
RANKS = ("RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID", "MV2_COMM_WORLD_RANK")


@dataclass(frozen=True)
class Look:
    """When a process was last seen running an executable."""

    pid: int
    time_ns: int  # CLOCK_MONOTONIC, as in the roll
    path: str


class Looker:
    """Collects looks at a process and its descendants; keeps the last look at each image."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._seen: dict[tuple[int, str], int] = {}
        self._opened: dict[str, None] = {}
        self._ranks: dict[int, str] = {}
        self._pause = FIRST_PAUSE_S

    def pause(self) -> float:
        """Seconds until the next look is due; grows."""
        self._pause = min(self._pause * 1.5, LONGEST_PAUSE_S)
        return self._pause

    def look(self) -> None:
        """Note what runs now."""
        for pid in _family(self._pid):
            path = executable(pid)
            if path and (pid, path) not in self._seen:  # a new image may have a new environment
                self._ranks[pid] = rank_of(pid)
            if path:
                self._seen[pid, path] = time.monotonic_ns()
            self._opened.update(dict.fromkeys(open_models(pid)))

    def looks(self) -> tuple[Look, ...]:
        """All looks, oldest first."""
        found = (Look(pid, time_ns, path) for (pid, path), time_ns in self._seen.items())
        return tuple(sorted(found, key=lambda look: look.time_ns))

    def opened(self) -> tuple[str, ...]:
        """Files with a model's name that a process had open when we looked."""
        return tuple(self._opened)

    def ranks(self) -> dict[int, str]:
        """By process: the number that a launcher gave it, of those that have one."""
        return {pid: rank for pid, rank in self._ranks.items() if rank}


def rank_of(pid: int) -> str:
    """The number that a launcher gave a process, "" if none is in the environment that it was started with."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            words = file.read(MOST_ENVIRONMENT).decode(errors="replace").split("\0")
    except OSError:
        return ""
    known = dict(word.split("=", 1) for word in words if "=" in word)
    return next((known[name] for name in RANKS if known.get(name, "").isdecimal()), "")


def open_models(pid: int) -> list[str]:
    """Of the first MOST_FILES open files of a process, those with a model's name."""
    found = []
    with contextlib.suppress(OSError):  # it has ended, or may not be asked
        for name in os.listdir(f"/proc/{pid}/fd")[:MOST_FILES]:
            with contextlib.suppress(OSError):
                found.append(os.readlink(f"/proc/{pid}/fd/{name}"))
    return [path for path in found if is_model(path)]


def executable(pid: int) -> str:
    """The file that runs in `pid`; empty when it has ended or may not be asked."""
    try:
        return os.readlink(f"/proc/{pid}/exe").removesuffix(" (deleted)")
    except OSError:
        return ""


def _family(pid: int) -> list[int]:
    """`pid` and its descendants, at most MOST_PROCESSES."""
    family = [pid]
    for parent in family:  # grows while it is walked
        family += _children(parent)
        if len(family) >= MOST_PROCESSES:
            break
    return family[:MOST_PROCESSES]


def _children(pid: int) -> list[int]:
    children: list[int] = []
    try:
        for tid in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{tid}/children") as file:
                children += map(int, file.read().split())
    except OSError:
        pass  # ended while we looked, or the kernel does not offer the list
    return children
