"""One run of a suite as a process of its own on a node of a cluster: python -m gpudx.flake.one_run FOLDER PARENT."""

from __future__ import annotations

import os
import socket
from pathlib import Path

from gpudx.errors import UserError
from gpudx.flake.ray_engine import Outcome
from gpudx.flake.record import look_at
from gpudx.flake.suites import Asked, CannotStart, SuiteLab
from gpudx.lab import on_node, trials
from gpudx.lab.strangers import STUDY
from gpudx.model.flake import Suite


def run(job: tuple[Suite, Asked], place: Path) -> Outcome:
    suite, asked = job
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
    on_node.serve(run)
