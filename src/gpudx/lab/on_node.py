"""One run as a process of its own, started by a worker of a cluster: python -m MODULE FOLDER PARENT.

The job lies in FOLDER, and so does its result afterwards. When PARENT dies, the run is ended as by Ctrl-C, with all that it started in
this process's group, and FOLDER goes.
"""

from __future__ import annotations

import os
import pickle
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from gpudx.lab import guarded, trials

JOB, RESULT = "job", "result"  # files between a worker and the process of the run


def serve(run: Callable[[Any, Path], object]) -> None:
    """The process: `run` gets the job and FOLDER, and its result is sent back."""
    folder, parent = sys.argv[1:3]
    place = Path(folder)
    guarded.begin(int(parent))
    job = pickle.loads((place / JOB).read_bytes())
    try:
        result = run(job, place)
    except (trials.Interrupted, SystemExit):
        _leave_nothing(place)
    (place / RESULT).write_bytes(pickle.dumps(result))


def _leave_nothing(place: Path) -> NoReturn:
    """The group is this run's own: the worker began a session for it."""
    shutil.rmtree(place, ignore_errors=True)
    os.killpg(0, signal.SIGKILL)
    raise AssertionError("unreachable")
