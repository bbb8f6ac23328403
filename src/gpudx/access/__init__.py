"""From a faulting access to its cause, in the program's own numbers.

Each rule is a module with a docstring and `explain(question)`, which gives a Reason or None. The first rule that answers wins, so
they are asked from the most specific to the most general: an address near null is never called a missing bounds check.
"""

from __future__ import annotations

from functools import partial

from gpudx.access import (
    argument_width,
    byte_stride,
    device_stack,
    extent,
    freed_memory,
    host_pointer,
    loaded_index,
    negative_index,
    null_pointer,
    other_argument,
    other_device,
    reach,
    shared_memory,
    unallocated,
    undersized,
    wrapped_index,
)
from gpudx.access.question import Question, Reason
from gpudx.errors import survived

__all__ = ["Question", "Reason", "explain"]

RULES = (
    shared_memory,
    device_stack,
    null_pointer,
    freed_memory,
    other_device,
    argument_width,
    wrapped_index,
    negative_index,
    loaded_index,
    host_pointer,
    byte_stride,
    unallocated,
    undersized,
    reach,
    extent,
    other_argument,
)


def explain(question: Question) -> Reason | None:
    """Why the access went where it went; None where the numbers do not say."""
    for rule in RULES if question.space != "shared" else (shared_memory,):
        reason = survived(f"Reading an access ({rule.__name__.rpartition('.')[2]})", partial(rule.explain, question), None)
        if reason is not None:
            return reason
    return None
