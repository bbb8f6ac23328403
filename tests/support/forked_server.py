"""Forks a process that has all of gpudx imported for each one that is asked for: usage: forked_server.py SOCKET.

A start then takes 10 ms of processor time instead of 600. The process is one of its own, with its own environment, folder,
streams and signals; it ends as `python -m gpudx` does. This server ends with its standard input.
"""

from __future__ import annotations

import array
import atexit
import ctypes
import gc
import importlib
import json
import os
import pkgutil
import runpy
import select
import socket
import sys
import threading
import traceback
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

import gpudx
from gpudx import native
from gpudx.cli import main
from gpudx.facts.symbols import symbols_of
from gpudx.trace import TraceSchema

CLOSED = 256
LEFT_OUT = ("__main__", "pytest_plugin", "ray_engine")  # that import much, or run something


def import_all() -> None:
    for module in pkgutil.walk_packages(gpudx.__path__, "gpudx."):
        if not module.name.rpartition(".")[2].startswith(LEFT_OUT):
            importlib.import_module(module.name)


def warm_up() -> None:
    """What every command would do again: numpy.unique imports numpy.ma, and each trace has the same schema."""
    importlib.import_module("numpy.ma")
    schema = native.data("schema.json")
    if schema is not None:
        TraceSchema.parse(schema.read_bytes(), str(schema))
    name_frames()


def name_frames() -> None:
    """Stacks of crashes end in the C library, whose debug information is large where it is installed. Its files stay open, and have
    numbers that a forked process does not close."""
    taken = [os.open(os.devnull, os.O_RDONLY) for _ in range(CLOSED)]
    symbols = symbols_of(Path("/proc/self/maps").read_text())
    for function in (ctypes.CDLL(None).abort, ctypes.CDLL(None).qsort):
        symbols.places(ctypes.cast(function, ctypes.c_void_p).value or 0)
    for one in taken:
        os.close(one)


def serve(path: str) -> None:
    """Until standard input ends."""
    running: dict[int, tuple[int, socket.socket]] = {}  # by what says that it has ended: the process, and who is told
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen(8)
        print("ready", flush=True)
        while True:
            ready = select.select([listener, sys.stdin, *running], [], [])[0]
            if sys.stdin in ready:
                return
            for one in running.keys() & set(ready):
                _tell_end(*running.pop(one))
                os.close(one)
            if listener in ready:
                asked, _ = listener.accept()
                pid = _start(asked)
                running[os.pidfd_open(pid)] = pid, asked


def _start(asked: socket.socket) -> int:
    """Forks gpudx, and says who it is."""
    fds = array.array("i")
    _, ancillary, _, _ = asked.recvmsg(1, socket.CMSG_SPACE(3 * fds.itemsize))
    fds.frombytes(ancillary[0][2])
    with asked.makefile() as stream:
        wanted = json.loads(stream.readline())
    pid = os.fork()
    if pid == 0:
        for at, fd in enumerate(fds):
            os.dup2(fd, at)
        os.closerange(3, CLOSED)
        _become(**wanted)
    for fd in fds:
        os.close(fd)
    _say(asked, pid)
    return pid


def _tell_end(pid: int, asked: socket.socket) -> None:
    _, status = os.waitpid(pid, 0)
    with asked:
        _say(asked, os.waitstatus_to_exitcode(status))


def _say(asked: socket.socket, number: int) -> None:
    with suppress(BrokenPipeError):  # a test that did not wait
        asked.sendall(f"{number}\n".encode())


def _become(words: list[str], folder: str, environment: dict[str, str], script: str) -> NoReturn:
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["gpudx", *words]
    sys.stdin = os.fdopen(0, closefd=False)
    sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = os.fdopen(2, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False)
    status: object = 1
    try:
        runpy.run_path(script, run_name="__main__") if script else main()
    except SystemExit as end:
        status = end.code
    except BaseException:
        traceback.print_exc()
    if isinstance(status, str):
        print(status, file=sys.stderr)
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(status if isinstance(status, int) else int(bool(status)))


if __name__ == "__main__":
    import_all()
    warm_up()
    gc.freeze()
    serve(sys.argv[1])
