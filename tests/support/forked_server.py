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
    """What every command would do again: typer imports pydantic when it first sees an option, and each trace has the same schema."""
    with suppress(ImportError):
        importlib.import_module("typer._adapters")
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
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen(8)
        print("ready", flush=True)
        while sys.stdin not in select.select([listener, sys.stdin], [], [])[0]:
            asked, _ = listener.accept()
            _reap()
            if os.fork() == 0:
                listener.close()
                _keep(asked)
            asked.close()


def _reap() -> None:
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def _keep(asked: socket.socket) -> NoReturn:
    """In a process between the server and gpudx: says who gpudx is, and how it ended."""
    fds = array.array("i")
    _, ancillary, _, _ = asked.recvmsg(1, socket.CMSG_SPACE(3 * fds.itemsize))
    fds.frombytes(ancillary[0][2])
    stream = asked.makefile("rw")
    wanted = json.loads(stream.readline())
    pid = os.fork()
    if pid == 0:
        for at, fd in enumerate(fds):
            os.dup2(fd, at)
        os.closerange(3, CLOSED)
        _become(**wanted)
    stream.write(f"{pid}\n")
    stream.flush()
    _, status = os.waitpid(pid, 0)
    stream.write(f"{os.waitstatus_to_exitcode(status)}\n")
    stream.flush()
    os._exit(0)


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
