"""Run a command and keep a copy of all that it says, while it says it to whom it would have said it anyway.

What is a terminal for us is a terminal for the command (a pseudo terminal for its output only), so that compilers colour
their words as before; what is no terminal is a pipe. Where both streams go to the same place they share one, so that their
order stays. Input, process group and signals are the command's own.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time
import tty
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NoReturn

from gpudx.errors import UserError
from gpudx.lab import program, signals

CHUNK = 1 << 16
SILENCE_S = 0.5  # a server that the build left behind holds the pipe open: nobody waits for it longer
OUT, ERR = 1, 2


@dataclass(frozen=True)
class Captured:
    """How it ended: the exit status, or -N after signal N."""

    returncode: int
    duration_s: float
    log: Path


@dataclass
class _Stream:
    """One end that we read, the end that the command writes, and where it goes on to."""

    read: int
    write: int
    to: int
    open: bool = True


def run_captured(command: list[str], log: Path, extra: Mapping[str, str] | None = None) -> Captured:
    """Run `command` to its end. UserError when it cannot be started."""
    program.find(command)
    streams = _streams()
    begin = time.monotonic()
    with log.open("wb") as copy, _bystander() as heard:
        try:
            child = subprocess.Popen(
                command,
                stdout=streams[0].write,
                stderr=streams[-1].write,
                env={**os.environ, **(extra or {})},
            )
        except OSError as error:
            raise UserError(f"{command[0]} cannot be started ({error.strerror}).", 126) from None
        heard.append(child)
        for stream in streams:
            os.close(stream.write)
        _pump(streams, copy, child)
        code = child.wait()
    return Captured(code, time.monotonic() - begin, log)


def end_like(done: Captured) -> NoReturn:
    """End gpudx as the command ended."""
    if done.returncode < 0:
        signals.die_of(-done.returncode)
    raise SystemExit(done.returncode)


# ---- streams ----


def _streams() -> list[_Stream]:
    """One for each of stdout and stderr, or one for both."""
    if _same(OUT, ERR):
        return [_stream(OUT)]
    return [_stream(OUT), _stream(ERR)]


def _same(first: int, second: int) -> bool:
    try:
        one, other = os.fstat(first), os.fstat(second)
    except OSError:
        return False
    return (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)


def _stream(to: int) -> _Stream:
    if not os.isatty(to):
        return _Stream(*os.pipe(), to)
    read, write = pty.openpty()
    tty.setraw(write)  # no LF becomes CR LF twice
    with contextlib.suppress(OSError):
        size = fcntl.ioctl(to, termios.TIOCGWINSZ, struct.pack("4H", 0, 0, 0, 0))
        fcntl.ioctl(write, termios.TIOCSWINSZ, size)
    return _Stream(read, write, to)


def _pump(streams: list[_Stream], copy: BinaryIO, child: subprocess.Popen[bytes]) -> None:
    """Until all ends are closed, or the command has ended and nothing came for a while."""
    while any(stream.open for stream in streams):
        ready, _, _ = select.select([stream.read for stream in streams if stream.open], [], [], SILENCE_S)
        if not ready and child.poll() is not None:
            break
        for stream in streams:
            if stream.read in ready:
                _pass(stream, copy)
    for stream in streams:
        os.close(stream.read)


def _pass(stream: _Stream, copy: BinaryIO) -> None:
    try:
        data = os.read(stream.read, CHUNK)
    except OSError as error:
        if error.errno != errno.EIO:  # how a pseudo terminal says that nobody writes any more
            raise
        data = b""
    stream.open = bool(data)
    copy.write(data)
    with contextlib.suppress(OSError):  # nobody reads us any more: the build goes on, and the copy is whole
        _all(stream.to, data)


def _all(to: int, data: bytes) -> None:
    while data:
        data = data[os.write(to, data) :]


# ---- signals ----


@contextlib.contextmanager
def _bystander() -> Iterator[list[subprocess.Popen[bytes]]]:
    """The terminal's signals reach the command by themselves; what is sent to us alone is passed on."""
    heard: list[subprocess.Popen[bytes]] = []

    def pass_on(number: int, _: object) -> None:
        for child in heard:
            child.send_signal(number)

    before = {one: signal.getsignal(one) for one in (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP)}
    for one, handler in before.items():
        if handler != signal.SIG_IGN:
            signal.signal(one, (lambda *_: None) if one in (signal.SIGINT, signal.SIGQUIT) else pass_on)
    try:
        yield heard
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
