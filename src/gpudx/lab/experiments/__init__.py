"""One file per experiment: a way of running the program that tells causes apart. Adding a file adds an experiment.

An experiment is a module here with

    a docstring         what it changes in the run, what a changed outcome says, and what it does not say
    ID                  its name
    COST                how much longer a run takes, roughly
    missing(context)    why it cannot be run here, or None. Cannot be run is not the same as passed
    how(context)        how the program is run

and, where it needs them:

    MITIGATES           a run that no longer fails names no cause: what was changed only hides it
    without_effect(context, seen)   after a run: why it did not do what it should have done, or None. Such a run says nothing
    command(context)    the command, where it differs
    around(context)     a context manager for the time of the run
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from types import ModuleType

from gpudx.lab.how import How

PLAIN = "recorded"


@dataclass(frozen=True)
class Context:
    """What is known of the program before an experiment."""

    command: tuple[str, ...]
    environment: Mapping[str, str]
    how: How = field(default_factory=How)  # of the plain runs
    apis: frozenset[str] = frozenset()  # that it calls
    threads: int = 0  # that made GPU calls in the process with most of them
    launches: int = 0
    devices: frozenset[str] = frozenset()
    turn: int = 0  # how often this experiment has been run before


@dataclass(frozen=True)
class Seen:
    """What a run of an experiment left in its record."""

    threads: int = 0
    devices: frozenset[str] = frozenset()
    findings: frozenset[str] = frozenset()  # ids


@cache
def every() -> dict[str, ModuleType]:
    """All experiments by name."""
    names = sorted(m.name for m in pkgutil.iter_modules(__path__) if not m.name.startswith("_"))
    modules = [importlib.import_module(f"{__name__}.{name}") for name in names]
    return {module.ID: module for module in modules}


def mitigations() -> frozenset[str]:
    """Experiments that hide a failure when they help, and name no cause."""
    return frozenset(name for name, module in every().items() if getattr(module, "MITIGATES", False))
