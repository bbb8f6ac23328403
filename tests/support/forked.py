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
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import IO

from support.own import PYTHONPATH

SERVER = Path(__file__).with_name("forked_server.py")


def gpudx(
    *words: str | Path,
    env: Mapping[str, str] | None = None,
    cwd: str | Path | None = None,
    timeout: float = 120,
    script: Path | None = None,
) -> subprocess.CompletedProcess[str]:
    """What subprocess.run([sys.executable, "-m", "gpudx", *words], capture_output=True, text=True, ...) gives, without input. Of a
    `script`, that is run instead of the module."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, open(os.devnull, "rb") as nothing:
        asked = {
            "words": [str(word) for word in words],
            "folder": str(cwd or Path.cwd()),
            "environment": dict(os.environ if env is None else env),
            "script": str(script or ""),
        }
        status = _ended(asked, (nothing, out, err), timeout)
        said = [_text(one) for one in (out, err)]
    return subprocess.CompletedProcess(list(words), status, *said)


def _ended(asked: Mapping[str, object], streams: Sequence[IO[bytes]], timeout: float) -> int:
    """The exit status; a signal's number below 0. A process that takes longer is killed."""
    with socket.socket(socket.AF_UNIX) as server:
        server.connect(_server())
        fds = array.array("i", [one.fileno() for one in streams])
        server.sendmsg([b"\0"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)])
        answer = server.makefile("rw")
        answer.write(json.dumps(asked) + "\n")
        answer.flush()
        pid = int(answer.readline())
        server.settimeout(timeout)
        try:
            return int(answer.readline())
        except TimeoutError:
            os.kill(pid, signal.SIGKILL)
            raise subprocess.TimeoutExpired(f"gpudx {asked['words']}", timeout) from None


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
