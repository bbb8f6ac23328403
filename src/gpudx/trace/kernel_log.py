"""The lines of GPU drivers in the kernel's log, kept beside the traces of a run (written by gpudx.lab.kernel_log)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

NAME = "kernel-log.txt"
ELSEWHERE = "# process numbers below are the host's, not the container's"  # the first line, where that is so


@dataclass(frozen=True)
class KernelLog:
    lines: tuple[str, ...] = ()
    own_numbers: bool = True  # are the numbers of processes those that the processes have themselves?


def read_log(folder: Path) -> KernelLog:
    """Empty where nothing was kept."""
    try:
        lines = tuple((folder / NAME).read_text(encoding="utf-8", errors="replace").splitlines())
    except OSError:
        return KernelLog()
    return KernelLog(lines, own_numbers=ELSEWHERE not in lines[:1])
