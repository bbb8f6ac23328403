"""`python -m gpudx` as a process of its own that begins with everything imported (forked_server.py)."""

from __future__ import annotations

import array
import atexit
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import IO

from support.own import PYTHONPATH

SERVER = Path(__file__).with_name("forked_server.py")
CLIENT = Path(__file__).with_name("forked_client.py")


def gpudx(
    *words: str | Path,
    env: Mapping[str, str] | None = None,
    cwd: str | Path | None = None,
    timeout: float = 120,
    script: Path | None = None,
) -> subprocess.CompletedProcess[str]:
    """What subprocess.run([sys.executable, "-m", "gpudx", *words], capture_output=True, text=True, ...) gives, without input. Of a
    `script`, that is run instead of the module."""
    running = start(*words, env=env, cwd=cwd, script=script)
    said = running.communicate(timeout)
    assert running.returncode is not None
    return subprocess.CompletedProcess(list(words), running.returncode, *said)


def start(
    *words: str | Path,
    env: Mapping[str, str] | None = None,
    cwd: str | Path | None = None,
    script: Path | None = None,
) -> Running:
    """The same, while it runs. It is in the group of processes of its test."""
    asked = {
        "words": [str(word) for word in words],
        "folder": str(cwd or Path.cwd()),
        "environment": dict(os.environ if env is None else env),
        "script": str(script or ""),
    }
    return Running(asked)


def command(folder: Path) -> Path:
    """A program `gpudx` in this folder, for the PATH of a script."""
    program = folder / "gpudx"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -I -S {CLIENT} {_server()} "$@"\n')
    program.chmod(0o755)
    return program


class Running:
    """What tests use of subprocess.Popen."""

    def __init__(self, asked: Mapping[str, object]) -> None:
        self._words = asked["words"]
        self.returncode: int | None = None  # a signal's number below 0
        self._out, self._err = (tempfile.TemporaryFile() for _ in range(2))  # noqa: SIM115 - closed at its end
        self._server = socket.socket(socket.AF_UNIX)
        self._server.connect(_server())
        with open(os.devnull, "rb") as nothing:
            fds = array.array("i", [one.fileno() for one in (nothing, self._out, self._err)])
            self._server.sendmsg([b"\0"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)])
        self._answer = self._server.makefile("rw")
        self._answer.write(json.dumps(asked) + "\n")
        self._answer.flush()
        self.pid = int(self._answer.readline())

    def send_signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def communicate(self, timeout: float = 120) -> tuple[str, str]:
        """All that it said, when it has ended. A process that takes longer is killed."""
        self._server.settimeout(timeout)
        try:
            self.returncode = int(self._answer.readline())
        except TimeoutError:
            os.kill(self.pid, signal.SIGKILL)
            raise subprocess.TimeoutExpired(f"gpudx {self._words}", timeout) from None
        finally:
            said = [_text(one) for one in (self._out, self._err)]
            for one in (self._out, self._err, self._answer, self._server):
                one.close()
        return said[0], said[1]


def _text(stream: IO[bytes]) -> str:
    stream.seek(0)
    return stream.read().decode()


@cache
def _server() -> str:
    """The socket of this process's server, which ends with it."""
    folder = tempfile.TemporaryDirectory(prefix="gpudx-forked-")
    path = f"{folder.name}/socket"
    env = {**os.environ, "PYTHONPATH": PYTHONPATH}
    server = subprocess.Popen([sys.executable, SERVER, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)
    assert server.stdin and server.stdout

    def end() -> None:
        assert server.stdin
        server.stdin.close()
        server.wait()
        folder.cleanup()

    atexit.register(end)
    assert server.stdout.readline() == b"ready\n", "the server of forked processes did not start"
    return path
