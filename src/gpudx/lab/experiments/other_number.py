"""Passes another number to a kernel where the program passes this one.

If the program fails every time and passes with the other number, that argument is wrong, or the kernel takes it for something else. If it
still fails, this says nothing about other numbers. With a variant, another number is passed.
"""

from __future__ import annotations

from gpudx.lab.experiments import UNCHECKED, Context, between_fences, needs_gpu_calls
from gpudx.model.how import How

ID = "other-number"
COST = 1.0
CHANGES_PROGRAM = True
VARIABLE = "GPUDX_OTHER_NUMBER"  # native/core/what_if.h


def missing(context: Context) -> str | None:
    if lacking := needs_gpu_calls(context):
        return lacking
    return None if context.numbers else f"no kernel is passed a number, or {UNCHECKED}"


def variants(context: Context) -> tuple[str, ...]:
    return tuple(map(str, range(1, len(context.numbers) + 1))) or ("1",)


def how(context: Context) -> How:
    return between_fences(context.how.under({VARIABLE: context.numbers[int(context.variant or 1) - 1]}), context.turn)


def did(context: Context) -> str:
    """ "gemv:4:4:5": which argument of which kernel, and the two numbers in hexadecimal."""
    return context.numbers[int(context.variant or 1) - 1]


def changed(context: Context) -> str:
    """ "0x5 instead of 0x4 as argument 4 of kernel gemv"."""
    kernel, index, given, other = did(context).rsplit(":", 3)
    return f"0x{other} instead of 0x{given} as argument {index} of kernel {kernel}"
