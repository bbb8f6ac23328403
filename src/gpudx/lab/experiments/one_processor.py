"""Runs all threads on one processor: they take turns instead of running at the same time.

If the failure rate changes, timing matters. If it stays, this says little: threads still interleave, only more coarsely.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

from gpudx.lab.experiments import Context
from gpudx.model.how import How

ID = "one-processor"
COST = 2.0


def missing(context: Context) -> str | None:
    return None if len(os.sched_getaffinity(0)) > 1 else "the program already has only one processor"


def how(context: Context) -> How:
    return context.how


@contextlib.contextmanager
def around(context: Context) -> Iterator[None]:
    """Children inherit the set of processors; a program that asks for more gets more."""
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)
