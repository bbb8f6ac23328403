"""Start this very program again, with the recorder in it."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import NoReturn

from gpudx.errors import UserError

RUNNER = "gpudx.cli.recorded_tests"


def under_recorder(case: Path | None) -> NoReturn:
    """Replace this process by one that runs the same command line recorded. Nothing of what it has done so far stays.

    The command line is the interpreter's own, because `-m pytest` and a script called pytest look alike afterwards.
    """
    words = [sys.executable, *sys.orig_argv[1:]]
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    try:
        os.execv(sys.executable, [sys.executable, "-P", "-m", RUNNER, str(case or ""), *words])
    except OSError as error:
        raise UserError(f"{sys.executable} cannot be started again ({error.strerror}).") from None
