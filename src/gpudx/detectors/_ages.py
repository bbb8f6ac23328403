"""How old what ran is, in words."""

from __future__ import annotations

import os

from gpudx.model import LoadedObject, Step
from gpudx.text import plural

OLDER = (
    "The program that ran seems older than its sources; it is not known whether it lacks recent changes. "
    "--probe TEXT, with a text that only the sources have, settles it; so does a fresh build (gpudx investigate --rebuild CMD)."
)
UNITS = ((86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second"))


def span(seconds: float) -> str:
    """ "3 days"; at least one second."""
    size, name = next(((size, name) for size, name in UNITS if seconds >= size), (1, "second"))
    return plural(max(1, int(seconds // size)), name)


def name_of(path: str) -> str:
    """The last part of a path."""
    return os.path.basename(path)


def before(step: Step, program: LoadedObject) -> bool:
    """Did a build step end before a program was run that is older than it?"""
    return bool(program.modified) and 0 < step.ended <= program.started and program.modified < step.began
