"""A process that is asked to end when whoever started it dies, however that happens.

A worker of a cluster may die of SIGKILL, or kill its children with it before it goes. So there is a guard between them: it dies with the
worker, or by it, and its death sends SIGTERM to the process behind it, which has the time to end what it started.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1  # prctl(2)


def begin(parent: int) -> None:
    """Go on in a new process behind a guard. SIGTERM raises SystemExit there. `parent` is who started this one."""
    guard = os.getpid()
    child = os.fork()
    if child:
        _watch(child, parent)
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit())
    _end_with(guard, signal.SIGTERM)


def _watch(child: int, parent: int) -> None:
    _end_with(parent, signal.SIGKILL)
    os._exit(0 if os.waitpid(child, 0)[1] == 0 else 1)


def _end_with(parent: int, number: int) -> None:
    """Afterwards, because the parent may have died before."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, number)
    if os.getppid() != parent:
        os._exit(1)
