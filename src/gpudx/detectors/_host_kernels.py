"""Kernels that run on the host's processor: they can overwrite whatever the program holds in its memory."""

from __future__ import annotations

from gpudx.facts import Facts
from gpudx.model import Evidence

FENCE_STEP = "Run it with `gpudx run --fence`: kernels ran on a CPU device, and one that leaves its buffer can damage any memory."
CPU = 2  # CL_DEVICE_TYPE_CPU (cl.h), a bit


def may_be_overwritten(facts: Facts, position: int) -> Evidence | None:
    """Why a value that the program passed at `position` may not be the one that it had stored; None if nothing suggests it.

    A kernel on a CPU device that writes outside its buffer writes into the program's own memory, handles included.
    """
    note = facts.trace.schema.by_name("note_device")
    types = facts.trace.field(note, "type", facts.trace.select(note)) if note else ()
    launched = bool((facts.launches.position < position).any())
    if not launched or not any(int(one) & CPU for one in types):
        return None
    text = (
        "kernels had run on a CPU device before: one that writes outside its buffer could have overwritten the variable "
        "that held the handle, and `gpudx run --fence` would show it"
    )
    return Evidence(text)
