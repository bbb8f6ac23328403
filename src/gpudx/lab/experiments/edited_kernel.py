"""Changes one word of a kernel's source before the driver gets it.

If the program fails every time and passes with the change, that place in the kernel is wrong, or what the host passes to it. If it still
fails, this says nothing about other places. With a variant, another word is changed.
"""

from __future__ import annotations

from gpudx.kernel_checks import syntax
from gpudx.lab import edited
from gpudx.lab.experiments import UNCHECKED, Context, between_fences, tried
from gpudx.model.how import How

ID = "edited-kernel"
COST = 1.0
CHANGES_PROGRAM = EDITS_KERNELS = True


def missing(context: Context) -> str | None:
    if "opencl" not in context.apis:
        return "the program makes no OpenCL calls"
    return None if context.edits else f"no source of a kernel is recorded, or {UNCHECKED}"


def variants(context: Context) -> tuple[str, ...]:
    """The first one is none: a source that has all changes and in which none is on."""
    if not context.edits or not syntax.available():
        return tuple(map(str, range(1, len(context.edits) + 1))) or ("1",)
    _, able, refused = edited.switched(context.edits, context.sources)
    numbers = (str(number) for number in range(1, len(context.edits) + 1) if number not in refused)
    return (*([edited.NONE] if able else []), *numbers)


def how(context: Context) -> How:
    """A change that the program passed with is made by itself."""
    number = context.variant or "1"
    able = edited.switched(context.edits, context.sources)[1] if context.switches and syntax.available() else ()
    if number == edited.NONE or (not context.turn and int(number) in able):
        return tried(edited.switched_how(context, number))
    suspect = context.edits[int(number) - 1].suspect
    return between_fences(edited.how(context, f"{ID}:{number}", [(suspect, suspect.edits)]), context.turn)


def did(context: Context) -> str:
    number = int(context.variant or 1)
    return str(context.edits[number - 1]) if number else ""


def changed(context: Context) -> str:
    """ "`i + 1` instead of `i` in line 4 of the kernel source, kernel scale"; "" where nothing is changed."""
    number = int(context.variant or 1)
    if not number:
        return ""
    one = context.edits[number - 1]
    before, where = " ".join(one.before.split()), f"kernel {one.kernel}" if one.kernel else f"function {one.function}"
    return f"`{one.after}` instead of `{before}` in line {one.line} of the kernel source, {where}"
