"""Changes one word of a kernel's source before the driver gets it.

If the program fails every time and passes with the change, that place in the kernel is wrong, or what the host passes to it. If it still
fails, this says nothing about other places. With a variant, another word is changed.
"""

from __future__ import annotations

from gpudx.lab import edited
from gpudx.lab.experiments import UNCHECKED, Context, between_fences
from gpudx.model.how import How

ID = "edited-kernel"
COST = 1.0
CHANGES_PROGRAM = EDITS_KERNELS = True


def missing(context: Context) -> str | None:
    if "opencl" not in context.apis:
        return "the program makes no OpenCL calls"
    return None if context.edits else f"no source of a kernel is recorded, or {UNCHECKED}"


def variants(context: Context) -> tuple[str, ...]:
    return tuple(map(str, range(1, len(context.edits) + 1))) or ("1",)


def how(context: Context) -> How:
    suspect = context.edits[int(context.variant or 1) - 1].suspect
    return between_fences(edited.how(context, f"{ID}:{context.variant}", [(suspect, suspect.edits)]), context.turn)


def did(context: Context) -> str:
    return str(context.edits[int(context.variant or 1) - 1])


def changed(context: Context) -> str:
    """ "`i + 1` instead of `i` in line 4 of the kernel source, kernel scale"."""
    one = context.edits[int(context.variant or 1) - 1]
    kernel = f", kernel {one.kernel}" if one.kernel else ""
    return f"`{one.after}` instead of `{one.before.strip()}` in line {one.line} of the kernel source{kernel}"
