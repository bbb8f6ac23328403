"""Captures that are abandoned: what the recorder was asked to do goes on after them. The driver is a fake (fake_cuda.c)."""

from __future__ import annotations

import pytest
from cuda_kit import Kit, decode


@pytest.mark.parametrize("what", ["destroyed", "failed", "right"])
def test_waits_go_on_after_a_capture(kit: Kit, what: str) -> None:
    command = [kit.program("abandons", way="BY_PROC_ADDRESS"), what]
    ran = kit.run(command, env={"GPUDX_SERIALISE": "1"})
    assert ran.seen == kit.run(command, recorded=False).seen
    trace = ran.trace()
    caller = trace.column("caller")
    own = [c for c in decode(trace) if c.name == "cuStreamSynchronize" and caller[c.position] == 0]
    assert len(own) == 1, "one behind the launch after the capture, none inside it"
