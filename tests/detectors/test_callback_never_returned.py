"""callback-never-returned: a wait and a callback that hold each other up, and callbacks that must not be accused."""

from __future__ import annotations

import time

import pytest
from support.detecting import Look, Make
from support.opencl import OpenCL, Until, waits
from support.synthetic import GLOBAL, Arg, World

from gpudx.detectors.callback_never_returned import ID
from gpudx.detectors.hang import PATIENCE_S
from gpudx.diagnose import diagnose
from gpudx.model import Finding, Outcome
from gpudx.trace import Trace

EVENT, FUNCTION, DRIVER = 0x5000, 0x400100, 9
TIMEOUT = {"duration_s": 10.0}


def _launch(world: World) -> None:
    kernel = world.kernel("stage", [Arg("float*", "data", GLOBAL)])
    world.set_arg(kernel, 0, world.buffer(64))
    world.launch(kernel, (16,), fields={"event": EVENT, "queue": world.queue})
    world.call("clSetEventCallback", event=EVENT, notify=FUNCTION)


def _called(world: World, *, returned: bool = False) -> None:
    world.call("note_callback", event=EVENT, notify=FUNCTION, complete=1, tid=DRIVER, open_=not returned)


def _finish(world: World, tid: int = 1) -> None:
    world.call("clFinish", queue=world.queue, tid=tid, open_=True)
    world.header.update(ended=0)


def _for(seconds: float, until: Until) -> Until:
    """A callback counts once it has taken so long."""
    since: list[float] = []

    def held(trace: Trace) -> bool:
        since.extend([time.monotonic()] if until(trace) else [])
        return bool(since) and time.monotonic() - since[0] > seconds

    return held


def _of(found: list[Finding]) -> list[Finding]:
    return [one for one in found if one.id == ID]


def test_wait_and_callback_are_named(world: Make, look: Look) -> None:
    process = world()
    _launch(process)
    _called(process)
    _finish(process)
    found = look(process, "timeout", **TIMEOUT)
    (finding,) = _of(found)
    assert finding.site is not None and finding.site.call == "clFinish"
    assert "has not returned for" in finding.message
    assert any("registered it for launch 1 of kernel stage, which has ended" in one.text for one in finding.evidence)
    first = diagnose(found, Outcome("timeout", ""))[0]
    assert (first.cause, first.status) == (ID, "likely")
    hang = next(one for one in found if one.id == "hang")
    assert "launch 1" not in hang.message, "the launch has ended: its callback was called"


def test_a_wait_inside_the_callback(world: Make, look: Look) -> None:
    process = world()
    _launch(process)
    _called(process)
    _finish(process, tid=DRIVER)
    (finding,) = _of(look(process, "timeout", **TIMEOUT))
    assert "waits for the device: it called clFinish" in finding.message


def test_in_a_real_program(opencl: OpenCL) -> None:
    """PoCL calls it in a thread that runs kernels: with one such thread, nothing behind it can run."""
    until = _for(2 * PATIENCE_S, waits("clFinish", 3))
    finding = opencl.run("hanging", "callback", until=until, POCL_MAX_PTHREAD_COUNT="1").only(ID)
    assert finding.site is not None and finding.site.call == "clFinish"
    assert "the callback held_up" in finding.message


# ---- silent ----


def test_a_callback_that_returned_is_silent(world: Make, look: Look) -> None:
    process = world()
    _launch(process)
    _called(process, returned=True)
    _finish(process)
    assert not _of(look(process, "timeout", **TIMEOUT))


@pytest.mark.parametrize(("ending", "seconds"), [("passed", 10.0), ("timeout", 0.1)])
def test_no_hang_or_a_callback_that_has_just_begun_is_silent(world: Make, look: Look, ending: str, seconds: float) -> None:
    process = world()
    _launch(process)
    _called(process)
    _finish(process)
    assert not _of(look(process, ending, duration_s=seconds))


def test_without_a_wait_it_is_silent(world: Make, look: Look) -> None:
    process = world()
    _launch(process)
    _called(process)
    process.header.update(ended=0)
    assert not _of(look(process, "timeout", **TIMEOUT))
