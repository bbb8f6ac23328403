"""Swaps two kernel arguments of the same type, in every launch or in those of one line.

If the program fails every time and passes with the two swapped, it passes them in the wrong order. If it still fails, this says nothing
about other arguments. With a variant, another pair is swapped.
"""

from __future__ import annotations

from gpudx.lab.experiments import UNCHECKED, Context, needs_gpu_calls, tried
from gpudx.model.how import How

ID = "exchanged"
COST = 1.0
CHANGES_PROGRAM = True
VARIABLE = "GPUDX_EXCHANGE"  # native/core/what_if.h
FRAMES = "="  # behind it, return addresses: only in launches that have one of them
GRID = "+grid"  # with the two arguments the first two dimensions of the grid


def missing(context: Context) -> str | None:
    if lacking := needs_gpu_calls(context):
        return lacking
    return None if context.exchanges else f"no kernel has two arguments of the same type with different values, or {UNCHECKED}"


def variants(context: Context) -> tuple[str, ...]:
    return tuple(map(str, range(1, len(context.exchanges) + 1))) or ("1",)


def how(context: Context) -> How:
    return tried(context.how).under({VARIABLE: context.exchanges[int(context.variant or 1) - 1]})


def did(context: Context) -> str:
    """ "apply_scale:1:2": which arguments of which kernel."""
    return context.exchanges[int(context.variant or 1) - 1]


def changed(context: Context) -> str:
    """ "arguments 1 and 2 of kernel apply_scale swapped"."""
    wish = did(context)
    kernel, first, second = pair(wish)
    grid = " and the grid with them" if GRID in wish else ""
    return f"arguments {first} and {second} of kernel {kernel} swapped{grid}{' in some of its launches' if FRAMES in wish else ''}"


def pair(wish: str) -> tuple[str, str, str]:
    """The kernel and the two arguments that the recorder is asked for."""
    kernel, first, second = wish.partition(FRAMES)[0].removesuffix(GRID).rsplit(":", 2)
    return kernel, first, second
