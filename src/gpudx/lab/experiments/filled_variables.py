"""Gives private variables of kernels that may be read before they are written a value, another one in each run.

If the program prints, returns or reads back something else with each value, the result depends on a variable that the kernel has not
set. If it does not, no more is shown than that: a run may not come to the place. With a number in the variant, one variable has that
value, and the others are zero.
"""

from __future__ import annotations

from dataclasses import replace

from gpudx.kernel_checks.suspects import Suspect
from gpudx.kernel_checks.unset_variables import filled, unset
from gpudx.lab import edited
from gpudx.lab.experiments import Context
from gpudx.model.how import How

ID = "filled-variables"
COST = 1.0
CHANGES_PROGRAM = EDITS_KERNELS = True
ZERO = "00000000"
FILLS = (ZERO, "3f3f3f3f", "c1c1c1c1")  # above and below zero, in every type
NONE = "no kernel has a private variable that may be read before it is written"
MOST = 12  # variables that are tried one by one


def suspects(context: Context) -> tuple[Suspect, ...]:
    """Those that the compiler warns of come first."""
    found = {(one.source, one.edits): one for source, options in context.sources for one in unset(source, options)}
    return tuple(sorted(found.values(), key=lambda one: (not one.certain, not one.used)))


def missing(context: Context) -> str | None:
    return edited.missing(context) or (None if suspects(context) else NONE)


def variants(context: Context) -> tuple[str, ...]:
    """ "3f3f3f3f", and "3f3f3f3f.2" of the second variable alone."""
    numbers = range(1, min(len(suspects(context)), MOST) + 1) if not edited.missing(context) else ()
    return (*FILLS, *(f"{fill}.{number}" for fill in FILLS[1:] for number in numbers))


def how(context: Context) -> How:
    pattern, _, number = (context.variant or ZERO).partition(".")
    every = suspects(context)
    chosen = [(one, filled(one, pattern if number in ("", str(at)) else ZERO)) for at, one in enumerate(every, 1)]
    # With a pattern in fresh memory, what is read back from the device is noted, and the same memory is there in every run.
    return replace(edited.how(context, f"{ID}:{context.variant}", chosen), poison="zero")
