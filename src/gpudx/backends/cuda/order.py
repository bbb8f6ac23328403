"""What orders work in CUDA, and the line of code that adds an order that is missing.

Sources: CUDA driver API, "Stream synchronization behavior" (legacy and per-thread default streams, non-blocking streams),
"API synchronization behavior" (copies and fills), "Event Management", "Stream Memory Operations".
"""

from __future__ import annotations

HOLDS = True  # native/cuda/sites.h
NON_BLOCKING = 1  # CU_STREAM_NON_BLOCKING
TELL_THE_END = ()
# Calls that make a stream wait for what is not recorded, and calls by which others may learn that it has come so far.
WAIT_UNSEEN = ("cuWaitExternalSemaphoresAsync", "cuStreamBatchMemOp_v2")
TELL_UNSEEN = ("cuSignalExternalSemaphoresAsync", "cuStreamBatchMemOp_v2")
ATTRIBUTE_WORDS = 9  # of a CUlaunchAttribute: its id, then 64 bytes of value
EVENT_ATTRIBUTES = (7, 12)  # CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT, CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT


def out_of_order(properties: int, listed: bytes) -> bool:
    """Streams are in order."""
    return False


def stands_alone(flags: int) -> bool:
    """Does a stream ignore the legacy default stream?"""
    return bool(flags & NON_BLOCKING)


def returns_early(call: str) -> bool:
    """Does a call without a stream return before the device has done its work? ("API synchronization behavior": fills, and copies
    from device to device.)"""
    return call.startswith(("cuMemset", "cuMemcpyDtoD", "cudaMemset")) and "Async" not in call


def edge(first: str, first_queue: str, second: str, second_queue: str) -> str:
    """The line that lets `second` wait for `first`."""
    return f"cudaEventRecord(e, {first_queue}) after {first}; cudaStreamWaitEvent({second_queue}, e) before {second}"
