"""One run of a suite as a process of its own, started by a worker of a cluster: python -m gpudx.flake.one_run FOLDER PARENT.

The job lies in FOLDER, and so does its result afterwards. When PARENT dies, the run is ended as by Ctrl-C, with all that it started in
this process's group, and FOLDER goes.
"""

from __future__ import annotations

import os
import pickle
import shutil
import signal
import socket
import sys
from pathlib import Path
from typing import NoReturn

from gpudx.errors import UserError
from gpudx.flake.ray_engine import JOB, RESULT, Outcome
from gpudx.flake.record import look_at
from gpudx.flake.suites import Asked, CannotStart, SuiteLab
from gpudx.lab import guarded, trials
from gpudx.lab.strangers import STUDY
from gpudx.model.flake import Suite


def main(folder: str, parent: str) -> None:
    place = Path(folder)
    guarded.begin(int(parent))
    suite, asked = pickle.loads((place / JOB).read_bytes())
    try:
        outcome = _run(suite, asked, place)
    except (trials.Interrupted, SystemExit):
        _leave_nothing(place)
    (place / RESULT).write_bytes(pickle.dumps(outcome))


def _leave_nothing(place: Path) -> NoReturn:
    """The group is this run's own: the worker began a session for it."""
    shutil.rmtree(place, ignore_errors=True)
    os.killpg(0, signal.SIGKILL)
    raise AssertionError("unreachable")


def _run(suite: Suite, asked: Asked, place: Path) -> Outcome:
    here = socket.gethostname()
    try:
        os.chdir(suite.folder)
        if trials.identity(suite.command) != suite.program:
            return Outcome(problem=f"{suite.command[0]} is another file on {here}: all nodes must have the same one.")
        os.environ[STUDY] = str(suite.lot)
        return Outcome(SuiteLab(suite, place, look_at).run(asked))
    except CannotStart as error:
        return Outcome(cannot_start=str(error))
    except OSError as error:
        return Outcome(problem=f"The tests cannot be run on {here} ({error}): nodes must see them under the same path.")
    except UserError as error:
        return Outcome(problem=f"On {here}: {error}")


if __name__ == "__main__":
    main(*sys.argv[1:3])
