"""Host memory that is changed while a copy may still read it: told wherever nothing waited, however the run ended."""

from __future__ import annotations

import pytest
from order_kit import HERE, Played
from support.opencl import OpenCL

from gpudx.model import Finding

NAME = "host-memory-changed-under-copy"


def findings(opencl: OpenCL, mode: str) -> list[Finding]:
    built = opencl.build([HERE / "programs/opencl_sources.c"], "-Werror", "-g")
    ran = opencl.record([built, mode])
    played = Played(ran.outcome.exit_code, ran.output, ran.traces[0])
    return [finding for finding in played.findings if finding.id == NAME]


@pytest.mark.parametrize(("mode", "second"), [("refilled", "clFinish"), ("again", "clEnqueueWriteBuffer")])
def test_a_changed_source_is_named_with_both_calls(opencl: OpenCL, mode: str, second: str) -> None:
    (found,) = findings(opencl, mode)
    assert found.site is not None and found.severity == "error"
    assert (found.site.call, found.others[0].call) == ("clEnqueueWriteBuffer", second)
    assert found.message.startswith("The host memory that clEnqueueWriteBuffer (call ")
    assert found.site.source and "opencl_sources.c:" in found.site.source


@pytest.mark.parametrize("mode", ["waited", "double", "user-event", "polled", "blocking"])
def test_what_is_allowed_is_not_told(opencl: OpenCL, mode: str) -> None:
    assert findings(opencl, mode) == []


def test_a_read_into_the_source_in_the_same_queue_is_allowed(opencl: OpenCL) -> None:
    assert findings(opencl, "read-into") == []
