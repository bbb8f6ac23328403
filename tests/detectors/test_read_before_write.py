"""read-before-write: the order in which work is asked for is not the order in which it is done, where it waits for the program."""

from __future__ import annotations

import struct

import pytest
from support.detecting import Look, Make
from support.synthetic import GLOBAL, Arg


@pytest.mark.parametrize(
    ("waits", "completed", "told"),
    [
        (True, "late", False),  # the read begins when the program has asked for the write, and that is done
        (True, "early", True),  # the event was complete before the write was asked for
        (True, "other", True),  # an event that the program made afterwards
        (False, "late", True),  # one queue in order: the read comes first, whatever others wait for
    ],
)
def test_a_read_that_waits_for_the_program(world: Make, look: Look, waits: bool, completed: str, told: bool) -> None:
    """Launched before the buffer was written, in another queue."""
    process = world()
    buffer, queue = process.buffer(64), process.queue
    event = process.create("clCreateUserEvent", context=process.context) if completed != "other" else 0
    kernel = process.kernel("unpack", [Arg("float*", "edge", GLOBAL, qualifiers=1)])
    process.set_arg(kernel, 0, buffer)
    process.launch(kernel, (16,), arrays={"waits": struct.pack("<Q", event)} if waits and event else {})
    if completed == "early":
        process.call("clSetUserEventStatus", event=event, execution_status=0)
    event = event or process.create("clCreateUserEvent", context=process.context)
    other = process.create("clCreateCommandQueue", context=process.context, device=process.device) if waits else queue
    process.call("clEnqueueWriteBuffer", queue=other, buffer=buffer, size=64, blocking=1, ptr=0x5000)
    if completed != "early":
        process.call("clSetUserEventStatus", event=event, execution_status=0)
    assert bool([one for one in look(process) if one.id == "read-before-write"]) == told
