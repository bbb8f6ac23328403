"""Runs the work-items and groups of a kernel in the opposite order, by other ids in its source.

If the program then ends otherwise or prints something else in every run, its result depends on an order that OpenCL does not give: that
of two unsynchronized accesses. If it does not, no more is shown than that the result is the same in these two orders. The variant names
the kernel; all kernels of its source are renumbered. Sums that atomic functions make, and the places that they hand out, may depend on
the order in a correct program: there only the exit status counts.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpudx.kernel_checks.opposite_order import may_print_otherwise, opposite
from gpudx.kernel_checks.suspects import Suspect
from gpudx.lab import edited
from gpudx.lab.experiments import Context, Seen
from gpudx.model.how import How

ID = "reversed"
COST = 1.0
CHANGES_PROGRAM = EDITS_KERNELS = OUTPUT_COUNTS = True
NOT_BUILT = "kernel-does-not-build"  # a finding


def _edits(context: Context, kernel: str) -> Iterator[Suspect | str]:
    """Of each source that has a kernel of this name."""
    for one in context.launched:
        if one.kernel == kernel:
            same = [other for other in context.launched if other.source == one.source]
            yield opposite(one.source, one.options, [other.kernel for other in same], even=all(other.even for other in same))


def why_not(context: Context, kernel: str) -> str:
    """Why a kernel cannot be renumbered; "" where it can."""
    return edited.missing(context) or next((one for one in _edits(context, kernel) if isinstance(one, str)), "")


def variants(context: Context) -> tuple[str, ...]:
    kernels = dict.fromkeys(one.kernel for one in context.launched)
    return tuple(name for name in kernels if not why_not(context, name))


def missing(context: Context) -> str | None:
    if lacking := edited.missing(context):
        return lacking
    whys = {one.kernel: why_not(context, one.kernel) for one in context.launched}
    return None if not all(whys.values()) else next(iter(whys.values()), "no kernel was launched")


def how(context: Context) -> How:
    kernel = context.variant or variants(context)[0]
    found = [(one, one.edits) for one in _edits(context, kernel) if isinstance(one, Suspect)]
    return edited.how(context, f"{ID}:{kernel}", found)


def without_effect(context: Context, seen: Seen) -> str | None:
    return "the driver did not build the renumbered kernel" if NOT_BUILT in seen.findings else None


def any_output_may_be_right(context: Context) -> bool:
    """May a correct program print something else in another order?"""
    sources = {one.source for one in context.launched if one.kernel == context.variant}
    return any(may_print_otherwise(one.source, one.options, [one.kernel]) for one in context.launched if one.source in sources)
