"""Something else that keeps the machine and its GPU busy: a second copy of the suite, again and again, its results unread."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence

STARTS_S = 0.2  # between copies, so that one which cannot start does not spin


@contextlib.contextmanager
def busy(words: Sequence[str], environment: Mapping[str, str]) -> Iterator[None]:
    """While this is entered, copies of the command run one after another. Its own session: all of it is ended at the end."""
    over, copies = threading.Event(), list[subprocess.Popen[bytes]]()
    thread = threading.Thread(target=_repeat, args=(list(words), dict(environment), over, copies), daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        while thread.is_alive():
            for copy in copies[-1:]:
                _end(copy)
            thread.join(0.05)


def _repeat(
    words: list[str], environment: dict[str, str], over: threading.Event, copies: list[subprocess.Popen[bytes]]
) -> None:
    while not over.is_set():
        try:
            copies[:] = [_start(words, environment)]
            copies[0].wait()
        except OSError:
            return
        over.wait(STARTS_S)


def _start(words: list[str], environment: dict[str, str]) -> subprocess.Popen[bytes]:
    nothing = subprocess.DEVNULL
    return subprocess.Popen(
        words, stdin=nothing, stdout=nothing, stderr=nothing, env=environment, start_new_session=True
    )


def _end(copy: subprocess.Popen[bytes]) -> None:
    """The whole group: a runner has workers. Not after the copy was waited for, when its number may be another's."""
    if copy.returncode is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(copy.pid, signal.SIGKILL)
