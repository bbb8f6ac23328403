"""What orders work in HIP, and the line of code that adds an order that is missing.

Streams, events and default streams follow CUDA's rules (HIP documentation, "Asynchronous concurrent execution" and "Stream
Management"): so far as the record goes there is no difference.
"""

from __future__ import annotations

from gpudx.backends.cuda.order import NON_BLOCKING, TELL_THE_END, out_of_order, stands_alone

__all__ = ["HOLDS", "NON_BLOCKING", "TELL_THE_END", "TELL_UNSEEN", "WAIT_UNSEEN", "edge", "out_of_order", "stands_alone"]

HOLDS = True  # native/hip/sites.h
# Calls that make a stream wait for what is not recorded, and calls by which others may learn that it has come so far.
WAIT_UNSEEN = ("hipWaitExternalSemaphoresAsync",)
TELL_UNSEEN = ("hipSignalExternalSemaphoresAsync",)
ATTRIBUTE_WORDS, EVENT_ATTRIBUTES = 9, ()  # launches have no attributes


def edge(first: str, first_queue: str, second: str, second_queue: str) -> str:
    """The line that lets `second` wait for `first`."""
    return f"hipEventRecord(e, {first_queue}) after {first}; hipStreamWaitEvent({second_queue}, e, 0) before {second}"
