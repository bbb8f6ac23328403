"""No program is left running when gpudx is killed: a guard process ends it (see `orphan_guard`)."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys

from gpudx.lab import orphan_guard
from gpudx.lab.orphan_guard import DONE, WAITING, start_time


class Guard:
    """gpudx's side: `with Guard() as guard: ...; guard.watch(pid)`. Leaving the block says that the program is dealt with."""

    def __enter__(self) -> Guard:
        reading, self._pipe = os.pipe()
        try:
            # -I and -S: neither the user's directory nor their site-packages are imported.
            self._process = subprocess.Popen(
                ["/bin/sh", "-c", WAITING, "sh", sys.executable, "-I", "-S", orphan_guard.__file__],
                stdin=reading,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                start_new_session=True,
            )
        except OSError:
            os.close(self._pipe)
            self._pipe = -1  # no guard: no reason not to run the program
        finally:
            os.close(reading)
        return self

    def watch(self, pid: int) -> None:
        """This is the program's first process."""
        self._say(f"{pid} {start_time(pid)}\n".encode())

    def __exit__(self, *error: object) -> None:
        if self._pipe >= 0:
            self._say(DONE)
            os.close(self._pipe)
            self._process.wait()

    def _say(self, words: bytes) -> None:
        if self._pipe >= 0:
            with contextlib.suppress(BrokenPipeError):  # somebody killed the guard
                os.write(self._pipe, words)
