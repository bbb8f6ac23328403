"""Where the host threads are of a program that does not end: registers and the top of the stack of each, taken from outside.

A thread is stopped for a moment (ptrace(2), PTRACE_SEIZE). Nothing is kept where that is not allowed, as under a debugger, and on other
machines than x86-64. One that is inside a driver may stop only later, when nobody would let it go on: all is done by a thread of ours that
then ends, with which the kernel lets go of whatever it had seized (ptrace(2), "If the tracer dies").
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import platform
import struct
import threading
import time
from pathlib import Path

from gpudx.trace.host_threads import NAME

SEIZE, INTERRUPT, GET_REGISTERS, DETACH = 0x4206, 0x4207, 12, 17  # linux/ptrace.h
ALL_THREADS = 0x40000000  # __WALL: wait for threads too, not only for processes
REGISTERS = 27  # words of struct user_regs_struct (sys/user.h)
# Its places of rax rdx rcx rbx rsi rdi rbp rsp r8..r15 rip, the order of the DWARF numbers
DWARF_ORDER = (10, 12, 11, 5, 13, 14, 4, 19, 9, 8, 7, 6, 3, 2, 1, 0, 16)
STACK = 16 << 10
MOST_THREADS = 64
MOST_MAPS = 4 << 20
PATIENCE_S, POLL_S = 0.2, 0.002  # of one thread
IN_ALL_S = 3.0  # of all of them: threads inside a driver may not stop


def keep(pids: list[int], traces: Path) -> None:
    """Write what the threads of these processes are doing beside their traces."""
    if platform.machine() == "x86_64":
        tracer = threading.Thread(target=_keep, args=(pids, traces), daemon=True)
        tracer.start()
        tracer.join()


def _keep(pids: list[int], traces: Path) -> None:
    until = time.monotonic() + IN_ALL_S
    for pid in pids:
        with contextlib.suppress(OSError, ValueError):
            maps = Path(f"/proc/{pid}/maps").read_bytes()[:MOST_MAPS].decode("utf-8", "replace")
            tids = sorted(map(int, os.listdir(f"/proc/{pid}/task")))[:MOST_THREADS]
            threads = [found for tid in tids if time.monotonic() < until and (found := _look(pid, tid))]
            if threads and any(traces.glob(f"{pid}-*.gdx")):
                (traces / NAME.format(pid=pid)).write_text(json.dumps({"maps": maps, "threads": threads}))


def _look(pid: int, tid: int) -> dict[str, object] | None:
    ptrace = ctypes.CDLL(None, use_errno=True).ptrace
    ptrace.argtypes, ptrace.restype = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p], ctypes.c_long
    if ptrace(SEIZE, tid, None, None):
        return None
    try:
        if ptrace(INTERRUPT, tid, None, None) or not _stopped(tid):
            return None
        words = ctypes.create_string_buffer(8 * REGISTERS)
        if ptrace(GET_REGISTERS, tid, None, ctypes.addressof(words)):  # type: ignore[arg-type]
            return None
        values = struct.unpack(f"<{REGISTERS}Q", words.raw)
        registers = [values[at] for at in DWARF_ORDER]
        return {"tid": tid, "registers": registers, "stack": _stack(pid, registers[7]).hex()}
    finally:
        ptrace(DETACH, tid, None, None)


def _stopped(tid: int) -> bool:
    """Did the thread stop? An end is left for whoever waits for the program. One inside a driver may not stop."""
    limit = time.monotonic() + PATIENCE_S
    while time.monotonic() < limit:
        if os.waitid(os.P_PID, tid, os.WSTOPPED | os.WNOHANG | ALL_THREADS):
            return True
        time.sleep(POLL_S)
    return False


def _stack(pid: int, sp: int) -> bytes:
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for size in (STACK, STACK // 4, 1 << 10):
            with contextlib.suppress(OSError, OverflowError, ValueError):
                memory.seek(sp)
                return memory.read(size)
    return b""
