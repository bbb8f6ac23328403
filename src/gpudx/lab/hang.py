"""A program that does not end: what its threads are doing, and how the whole tree is ended."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import psutil

GRACE_S = 2.0  # between SIGTERM and SIGKILL
SHORT_GRACE_S = 0.2  # the same, where nothing that the program would still write is wanted
PATIENCE_S = 5.0  # after SIGKILL: a thread stuck inside a driver may never die
MOST_THREADS = 4096
POLL_S = 0.02

Ended = Callable[[], bool]


def tree(pid: int) -> list[psutil.Process]:
    """The process and its descendants. Those whose parent has ended belong to another tree and are not found."""
    try:
        root = psutil.Process(pid)
        return [root, *root.children(recursive=True)]
    except psutil.Error:
        return []


def snapshot(pid: int) -> str:
    """What every thread of the tree is doing, as /proc says it. Parts that may not be read are left out."""
    lines: list[str] = []
    left = MOST_THREADS
    for process in tree(pid):
        threads = _threads(process.pid)
        lines.append(f"process {process.pid}: {_command(process.pid)} ({len(threads)} threads)")
        for tid in threads[:left]:
            lines += _thread(process.pid, tid)
        left = max(0, left - len(threads))
    return "\n".join(lines) + "\n"


def _threads(pid: int) -> list[int]:
    try:
        return sorted(int(name) for name in os.listdir(f"/proc/{pid}/task"))
    except OSError:
        return []


def _command(pid: int) -> str:
    return _text(Path(f"/proc/{pid}/cmdline")).replace("\0", " ").strip() or "(no command line)"


def _thread(pid: int, tid: int) -> list[str]:
    place = Path(f"/proc/{pid}/task/{tid}")
    lines = [f"  thread {tid}: {_text(place / 'comm')}"]
    for name in ("wchan", "syscall", "stack", "status"):
        text = _text(place / name)
        lines += [f"    {name}: {line}" for line in text.splitlines() if line]
    return lines


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8", "backslashreplace").strip()
    except OSError:
        return ""


def end_tree(pid: int, ended: Ended, grace_s: float = GRACE_S) -> bool:
    """SIGTERM to the whole tree, SIGKILL to what is left after `grace_s`. Did the root end?

    `ended` reaps the root and says whether it is gone. A stopped process is continued, so that it can end.
    """
    processes = tree(pid)
    _send(processes, signal.SIGTERM, signal.SIGCONT)
    if _wait(processes, ended, grace_s):
        return True
    _send({*processes, *tree(pid)}, signal.SIGKILL)
    _wait(processes, ended, PATIENCE_S)
    return ended()


def _send(processes: Iterable[psutil.Process], *signals: signal.Signals) -> None:
    for process in processes:
        for one in signals:
            try:
                process.send_signal(one)
            except psutil.Error:
                break


def _wait(processes: list[psutil.Process], ended: Ended, seconds: float) -> bool:
    """Wait until nothing of the tree runs, at most `seconds`."""
    limit = time.monotonic() + seconds
    while time.monotonic() < limit:
        if ended() and not any(_runs(process) for process in processes):
            return True
        time.sleep(POLL_S)
    return False


def _runs(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False
