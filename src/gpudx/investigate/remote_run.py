"""One run of an experiment as a process of its own on a node of a cluster: python -m gpudx.investigate.remote_run FOLDER PARENT."""

from __future__ import annotations

import os
import socket
import traceback
from dataclasses import replace
from pathlib import Path

from gpudx.errors import UserError
from gpudx.investigate.loop import OutOfTime
from gpudx.investigate.one_run import make, with_learned
from gpudx.investigate.ray_laboratory import FOLDER, Order, Outcome
from gpudx.lab import on_node, trials
from gpudx.lab.experiments import PLAIN, Context, NotReached, every
from gpudx.lab.trials import RUNS


def run(order: Order, place: Path) -> Outcome:
    """What the run says, or why there is none."""
    here = socket.gethostname()
    try:
        os.chdir(order.folder)
    except OSError as error:
        return Outcome(problem=f"The program cannot be run on {here} ({error}): nodes must see it under the same path.")
    given = order.job.context
    context = replace(given, environment={**os.environ, **given.how.extra_env}, folder=place)
    try:
        if trials.identity(given.command) != order.program:
            return Outcome(problem=f"{given.command[0]} is another file on {here}: all nodes must have the same one.")
        made = make(replace(order.job, context=context), place / RUNS / FOLDER)
    except NotReached as error:
        return Outcome(not_reached=str(error))
    except OutOfTime:
        return Outcome(out_of_time=True)
    except UserError as error:
        return Outcome(problem=f"On {here}: {error}")
    except (trials.Interrupted, SystemExit):
        raise
    except Exception:
        return Outcome(bug=traceback.format_exc())
    missing = _missing(with_learned(context, made.learned)) if order.job.experiment == PLAIN else {}
    return Outcome(replace(made, facts=()), place=str(place / RUNS / FOLDER), missing=missing)


def _missing(context: Context) -> dict[str, str | None]:
    """Which experiments cannot be run on this node, and why: the tools are there, not where gpudx was started."""
    return {name: module.missing(context) for name, module in every().items() if name != PLAIN}


if __name__ == "__main__":
    on_node.serve(run)
