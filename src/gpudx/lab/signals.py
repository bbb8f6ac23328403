"""Signals between the terminal, gpudx and the program: as if gpudx were not there.

The program stays in the process group of gpudx, so the terminal's own signals (Ctrl-C, Ctrl-\\, hang-up) reach both.
While the program runs, gpudx blocks them and reads them one by one with their sender:

    from the terminal      the program has it already; gpudx lives on to write the case
    from inside the tree   a program that signals its group; not sent back to it
    from anyone else       meant for the program: passed on

A sender that signals the whole group reaches the program twice; that cannot be told from a signal to gpudx alone.
Threads that begin while the program runs have to block the same signals, as those do that the reading thread starts.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import resource
import signal
import sys
import time
from collections.abc import Iterator
from typing import NoReturn

PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)  # of these, what people end programs with
CHANGED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)  # ignored in every Python program; the child gets the default back
SI_KERNEL = 0x80  # si_code of a signal that the terminal sent (asm-generic/siginfo.h)
PR_SET_DUMPABLE = 4


def name(number: int) -> str:
    """ "SIGSEGV" for 11; real-time signals count from SIGRTMIN."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"SIGRTMIN+{number - signal.SIGRTMIN}"


@contextlib.contextmanager
def held() -> Iterator[tuple[set[int], set[int]]]:
    """Block the signals to be read. Gives (the signals to wait for, the mask the program must start with).

    What is ignored stays ignored (nohup, background jobs of a shell without job control), except SIGCHLD: with it
    ignored the kernel would throw the program's exit status away. What comes after the program's end is dropped, so
    that a second Ctrl-C does not cost the case.
    """
    if signal.getsignal(signal.SIGCHLD) == signal.SIG_IGN:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    wanted = {one for one in PASSED_ON if signal.getsignal(one) != signal.SIG_IGN}
    watched: set[int] = {*wanted, signal.SIGCHLD}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, watched)
    try:
        yield watched, {int(one) for one in before}
    finally:
        while wait(watched, 0):
            pass
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class Heard(ctypes.Structure):
    """A signal and who sent it: siginfo_t of 64-bit Linux (asm-generic/siginfo.h)."""

    _fields_ = (
        ("number", ctypes.c_int),
        ("error", ctypes.c_int),
        ("code", ctypes.c_int),
        ("padding", ctypes.c_int),
        ("pid", ctypes.c_int),
        ("rest", ctypes.c_char * 108),
    )
    number: int
    code: int
    pid: int


class _Time(ctypes.Structure):
    _fields_ = (("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long))


_LIBC = ctypes.CDLL(None, use_errno=True)
_SET_BYTES = 128  # sigset_t


def wait(watched: set[int], seconds: float) -> Heard | None:
    """Wait for one of these blocked signals; None when the time is over.

    signal.sigtimedwait is not used: where the wait was interrupted (Ctrl-Z and fg) and the time is over, it gives back
    what happens to lie in memory as if it were a signal (CPython 3.11, Modules/signalmodule.c).
    """
    numbers = ctypes.create_string_buffer(_SET_BYTES)
    _LIBC.sigemptyset(numbers)
    for number in watched:
        _LIBC.sigaddset(numbers, int(number))
    heard, deadline = Heard(), time.monotonic() + seconds
    while True:
        left = max(0, int((deadline - time.monotonic()) * 1e9))
        if _LIBC.sigtimedwait(numbers, ctypes.byref(heard), ctypes.byref(_Time(*divmod(left, 10**9)))) > 0:
            return heard
        if ctypes.get_errno() != errno.EINTR:
            return None


def is_from_outside(info: Heard, pid: int) -> bool:
    """Did the terminal or a stranger send it, and not the program, whose first process is `pid`?"""
    if info.number == signal.SIGCHLD:
        return False
    from gpudx.lab import hang

    return info.code == SI_KERNEL or info.pid not in {pid, *(process.pid for process in hang.tree(pid))}


def pass_on(info: Heard, pid: int) -> None:
    """Give the program what somebody else sent to gpudx, unless the program has it already, from the terminal."""
    if info.code != SI_KERNEL:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, info.number)


def stop_too(pid: int) -> None:
    """The program stopped itself: stop as well, so that the shell sees a stopped job, and continue it afterwards.

    Only in the foreground of a terminal: elsewhere nobody would continue gpudx.
    """
    if not _in_foreground():
        return
    os.kill(os.getpid(), signal.SIGSTOP)
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGCONT)


def _in_foreground() -> bool:
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)


def die_of(number: int) -> NoReturn:
    """End this process as the program ended, so that the shell sees the same thing. Leaves no core file of gpudx."""
    with contextlib.suppress(OSError):
        sys.stdout.flush()
        sys.stderr.flush()
    _leave_no_core()
    if number not in (signal.SIGKILL, signal.SIGSTOP):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
    os.kill(os.getpid(), number)
    raise SystemExit(128 + number)  # a signal whose default is not to end the process


def _leave_no_core() -> None:
    """The limit stops core files; "not dumpable" also stops crash reporters that core_pattern pipes to."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    _LIBC.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
