"""Computes sums and products of 32 bits and less in 64, in all kernels that are built from a source.

If a program that fails every time passes with it, a number in a kernel does not fit in its type. If it still fails, numbers that are
stored in 32 bits may be too large all the same. With a number above 0 as the variant, one variable or expression is computed so; `told`
before the number prints what outgrew its type.
"""

from __future__ import annotations

from gpudx.kernel_checks.suspects import Suspect
from gpudx.kernel_checks.wide_arithmetic import MOST, narrow, told
from gpudx.lab import edited
from gpudx.lab.experiments import Context
from gpudx.model.how import How

ID = "widened"
COST = 1.0
CHANGES_PROGRAM = EDITS_KERNELS = True
ALL, TOLD = "0", "told"


def suspects(context: Context) -> tuple[Suspect, ...]:
    found = {(one.source, one.edits): one for source, options in context.sources for one in narrow(source, options)}
    return tuple(found.values())[:MOST]


def missing(context: Context) -> str | None:
    return edited.missing(context) or (None if suspects(context) else "no kernel has a sum or product that could be computed in more bits")


def variants(context: Context) -> tuple[str, ...]:
    numbers = range(1, len(suspects(context)) + 1) if not edited.missing(context) else ()
    return (ALL, *map(str, numbers), *(f"{TOLD}{number}" for number in numbers))


def how(context: Context) -> How:
    variant = context.variant or ALL
    number = variant.removeprefix(TOLD)
    chosen = [
        (one, told(one, at) if variant.startswith(TOLD) else one.edits)
        for at, one in enumerate(suspects(context), 1)
        if number in (ALL, str(at))
    ]
    return edited.how(context, f"{ID}:{variant}", chosen)
