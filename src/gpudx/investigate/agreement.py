"""Where two instruments speak of one fault: one says what a kernel did, the other why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gpudx.causes import every as every_cause
from gpudx.causes import tells
from gpudx.model import Diagnosis
from gpudx.model.cause_kinds import LIFETIME, MEMORY

GENERAL = ("access", "timing")  # causes that tell what happened; others also tell why
AGREE = "One instrument saw the access and its reason, another confirmed the kernel."
ON_RECORD = "The trace shows memory that the kernel must not use, and an instrument saw the kernel use such memory."


def agreed(told: Sequence[Diagnosis]) -> list[Diagnosis]:
    """Where an instrument confirms that a kernel accessed memory it may not access, and another saw the access itself and says why,
    they speak of one fault, and the one that says why is confirmed. So is a record of memory that was gone, of the same kernel."""
    seen = {kernel_of(one) for one in told if one.status == "confirmed" and tells(one.cause) in GENERAL and one.observed and one.guilty}
    met = {_kernel_seen(one) for one in told if tells(one.cause) in GENERAL and one.observed}
    return [_with(one, seen, met) for one in told]


def _with(entry: Diagnosis, seen: set[str | None], met: set[str | None]) -> Diagnosis:
    kernel = kernel_of(entry)
    if entry.status != "likely" or tells(entry.cause) in GENERAL or kernel is None:
        return entry
    if entry.observed and kernel in seen:
        return replace(entry, status="confirmed", reason=AGREE)
    cause = every_cause().get(entry.cause)
    if kernel in met and cause is not None and cause.kind in (MEMORY, LIFETIME):
        return replace(entry, status="confirmed", reason=ON_RECORD)
    return entry


def _kernel_seen(entry: Diagnosis) -> str | None:
    """The kernel whose access an instrument saw, also where the launch is not known: of a graph."""
    return kernel_of(entry) or (entry.access.kernel.partition("(")[0] if entry.access else None)


def is_unnamed(entry: Diagnosis) -> bool:
    """Of equals, one that names the argument says more."""
    return entry.guilty is None or entry.guilty.argument is None


def kernel_of(entry: Diagnosis) -> str | None:
    return entry.guilty.kernel if entry.guilty else None
