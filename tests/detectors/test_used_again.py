"""unordered-access in one out-of-order queue: a buffer that is filled again for the next round."""

from __future__ import annotations

import pytest
from support.opencl import OpenCL

ID = "unordered-access"


@pytest.mark.parametrize(
    ("mode", "later", "earlier"), [("write too early", "make", "use"), ("read too early", "use", "make")]
)
def test_a_buffer_that_is_used_again_in_an_out_of_order_queue(opencl: OpenCL, mode: str, later: str, earlier: str) -> None:
    found = opencl.run("reused_buffer", mode).of(ID)
    pairs = [(one.site.kernel, one.others[0].kernel) for one in found if one.site is not None]
    assert (later, earlier) in pairs, found


@pytest.mark.parametrize("mode", ["right", "halves"])
def test_rounds_that_wait_or_work_on_their_own_halves(opencl: OpenCL, mode: str) -> None:
    assert not opencl.run("reused_buffer", mode).of(ID)
