"""Where the host threads were when a program was stopped that did not end; kept beside its trace (lab/host_threads.py)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from gpudx.trace.last_words import LastWords

NAME = "{pid}.threads.json"
WORD = (1 << 64) - 1
PC, SP = 16, 7  # in the order of LastWords.registers


@dataclass(frozen=True)
class HostThreads:
    maps: str = ""
    threads: tuple[LastWords, ...] = ()


def of_trace(path: Path, pid: int) -> HostThreads:
    """None are known of a program that ended, and where looking was not allowed."""
    place = path.parent / NAME.format(pid=pid)
    return _read(place) if place.is_file() else HostThreads()


@lru_cache(maxsize=4)
def _read(place: Path) -> HostThreads:
    try:
        found = json.loads(place.read_text())
        return HostThreads(str(found["maps"]), tuple(_words(one) for one in found["threads"]))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return HostThreads()


def _words(one: dict[str, object]) -> LastWords:
    registers, stack = one["registers"], one["stack"]
    if not isinstance(registers, list) or not isinstance(stack, str) or len(registers) != PC + 1:
        raise ValueError
    values = tuple(int(value) & WORD for value in registers)
    return LastWords(
        signal=0,
        code=0,
        tid=int(str(one["tid"])),
        address=0,
        pc=values[PC],
        sp=values[SP],
        registers=values,
        stack=bytes.fromhex(stack),
        time_s=0.0,
        vouched=False,
    )
