"""Ends the program when gpudx dies without having ended it, as after SIGKILL or out of memory.

The guard is a process beside the program, in a session of its own. It holds the reading end of a pipe whose other end only
gpudx has, so the pipe ends with gpudx, however that dies. The program itself is started as without a guard: PR_SET_PDEATHSIG
would be visible to it, would reach only the first process of a tree, and is dropped by programs that change their user.

    sh -c WAITING sh ...                      reads "PID STARTTIME" from stdin, then "done" or the end of the pipe, and becomes
    python orphan_guard.py PID STARTTIME      which ends the program

A shell waits, because that starts in a tenth of the time of an interpreter, and with every run.
"""

import os
import signal
import sys
import time

GRACE_S = 2.0  # between SIGTERM and SIGKILL
POLL_S = 0.02
PPID, START_TIME = 1, 19  # fields of /proc/PID/stat behind the name, proc_pid_stat(5)
DONE = b"done\n"
# Until gpudx closes the pipe, or dies; in POSIX's shell language.
WAITING = """while read -r line; do
    [ "$line" = done ] && exit
    program=$line
done
[ -z "$program" ] || exec "$@" $program"""


def main(pid: int, started: int) -> None:
    """The guard's side, when gpudx has died."""
    if started == start_time(pid):  # else it has ended, and the number is somebody else's
        _end(pid)


def _end(pid: int) -> None:
    """SIGTERM to the whole tree, SIGKILL to what is left after the grace."""
    processes = {one: start_time(one) for one in _tree(pid)}
    for one in processes:
        _send(one, processes[one], signal.SIGTERM)
        _send(one, processes[one], signal.SIGCONT)
    limit = time.monotonic() + GRACE_S
    while any(_runs(*one) for one in processes.items()) and time.monotonic() < limit:
        time.sleep(POLL_S)
    late = [child for one in processes for child in _tree(one)]  # started meanwhile
    processes |= {one: start_time(one) for one in late if one not in processes}
    for one in processes:
        _send(one, processes[one], signal.SIGKILL)


def _tree(pid: int) -> list[int]:
    """The process and its descendants."""
    parents = {int(name): _fields(int(name)) for name in os.listdir("/proc") if name.isdecimal()}
    children: dict[int, list[int]] = {}
    for one, fields in parents.items():
        if fields:
            children.setdefault(int(fields[PPID]), []).append(one)
    found = [pid] if parents.get(pid) else []
    for one in found:  # grows while it is read
        found += children.get(one, [])
    return found


def _fields(pid: int) -> list[str]:
    """State, parent and so on; the name before them may hold anything. [] where there is no such process."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()
    except OSError:
        return []


def start_time(pid: int) -> int:
    """Tells a process from a later one with the same number; 0 where there is none."""
    fields = _fields(pid)
    return int(fields[START_TIME]) if fields else 0


def _runs(pid: int, started: int) -> bool:
    fields = _fields(pid)
    return bool(fields) and int(fields[START_TIME]) == started and fields[0] not in "ZX"


def _send(pid: int, started: int, number: int) -> None:
    if _runs(pid, started):
        try:  # noqa: SIM105 (contextlib takes longer to import than everything here)
            os.kill(pid, number)
        except OSError:
            pass  # it has ended, or belongs to another user


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
