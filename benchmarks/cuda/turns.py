"""Two processes of one program, plain and recorded, that take turns: each waits while the other works.

From one process to the next, a PyTorch program differs by more than the recorder costs, and within a process it drifts with the
machine. Turns of a fraction of a second meet the same machine, on the same two processors; several pairs of processes even
out the rest. The figure is the median, over the pairs, of the median ratio of neighbouring turns.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
from contextlib import ExitStack
from dataclasses import dataclass

import modes
from modes import NotMeasured


@dataclass(frozen=True)
class Pair:
    """The times of each turn of one pair, in ns."""

    plain: list[float]
    recorded: list[float]

    @property
    def ratio(self) -> float:
        return statistics.median(b / a for a, b in zip(self.plain, self.recorded, strict=True))


def play(command: list[str], turns: int) -> Pair:
    """One pair of processes; they swap who begins, turn by turn."""
    recorded, command = modes.recorded_mode(), [*on_two_processors(), *command]
    with ExitStack() as stack:
        folder = stack.enter_context(modes.case_directory())
        words = modes.recorded_words(recorded, folder, command, "--quiet")
        both = [
            stack.enter_context(modes.started(command, {}, subprocess.DEVNULL, subprocess.PIPE)),
            stack.enter_context(modes.started(words, recorded.env, subprocess.DEVNULL, subprocess.PIPE)),
        ]
        times: tuple[list[float], list[float]] = ([], [])
        for one in both:
            turn(one)  # both are warm before the first turn counts
        for number in range(turns):
            for which in (0, 1) if number % 2 else (1, 0):
                times[which].append(turn(both[which]))
        for one in both:
            one.communicate(timeout=modes.RUN_LIMIT_S)
        if not modes.recorded_launches(modes.read_case(folder)):
            raise NotMeasured("the recorder saw no launches")
    return Pair(*times)


def on_two_processors() -> list[str]:
    """Words that pin a program: processors of one machine differ, too."""
    some = sorted(os.sched_getaffinity(0))[-2:]
    return ["taskset", "-c", ",".join(map(str, some))] if shutil.which("taskset") else []


def turn(process: subprocess.Popen[str]) -> float:
    assert process.stdin and process.stdout
    try:
        process.stdin.write("\n")
        process.stdin.flush()
        return float(process.stdout.readline().split()[1])
    except (OSError, IndexError, ValueError):
        raise NotMeasured("the program ended before its turn") from None
