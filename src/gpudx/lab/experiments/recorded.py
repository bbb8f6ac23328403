"""Runs the program as it is, once more.

Shows how often it fails, which every other experiment is compared with. It says nothing about why.
"""

from __future__ import annotations

from dataclasses import replace

from gpudx.lab.experiments import PLAIN, Context
from gpudx.model.how import How

ID = PLAIN
COST = 1.0


def missing(context: Context) -> str | None:
    return None


def how(context: Context) -> How:
    """Later runs show what a run with a change is compared with."""
    return replace(context.how, read_back=bool(context.turn))
