"""What orders work in OpenCL, and the line of code that adds an order that is missing.

Sources: OpenCL 3.0 API specification, "Command-Queues" and "Markers, Barriers and Waiting for Events".
"""

from __future__ import annotations

import struct

HOLDS = True  # native/opencl/sites.h
OUT_OF_ORDER = 1  # CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE
QUEUE_PROPERTIES = 0x1093  # CL_QUEUE_PROPERTIES
# Questions about an event whose answer may say that its command has ended: CL_EVENT_COMMAND_EXECUTION_STATUS, and all of
# clGetEventProfilingInfo, which answers only then.
TELL_THE_END = (0x11D3, *range(0x1280, 0x1285))
WAIT_UNSEEN = TELL_UNSEEN = EVENT_ATTRIBUTES = ()
ATTRIBUTE_WORDS = 0


def out_of_order(properties: int, listed: bytes) -> bool:
    """Was a queue made with these properties, given as one word or as a list of pairs, out of order?"""
    words = struct.unpack(f"<{len(listed) // 8}Q", listed[: len(listed) // 8 * 8])
    pairs = dict(zip(words[::2], words[1::2], strict=False))
    return bool((properties | pairs.get(QUEUE_PROPERTIES, 0)) & OUT_OF_ORDER)


def stands_alone(flags: int) -> bool:
    """There is no default queue."""
    return True


def edge(first: str, first_queue: str, second: str, second_queue: str) -> str:
    """The line that lets `second` wait for `first`."""
    return f"pass the event of {first} in the wait list of {second}"
