"""event-never-completed: a hang that the record explains by a user event, and hangs that it must not explain so."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from support.detecting import Look, Make
from support.opencl import OpenCL, waits
from support.synthetic import GLOBAL, Arg, World

from gpudx.detectors.event_never_completed import ID, completes_behind
from gpudx.diagnose import diagnose
from gpudx.model import Finding, Outcome

OUT_OF_ORDER = 1
TIMEOUT = {"duration_s": 10.0}


def _user_event(world: World) -> int:
    return world.create("clCreateUserEvent", context=world.context)


def _waits(*events: int) -> dict[str, bytes]:
    return {"waits": struct.pack(f"<{len(events)}Q", *events)}


def _write(world: World, *waits: int, queue: int = 0, event: int = 0) -> int:
    return world.call(
        "clEnqueueWriteBuffer",
        queue=queue or world.queue,
        buffer=world.buffer(4096),
        size=4096,
        ptr=0x7F0000001000,
        event=event,
        arrays=_waits(*waits) if waits else {},
    )


def _launch(world: World, *waits: int, event: int = 0, queue: int = 0) -> int:
    kernel = world.kernel("scale", [Arg("float*", "data", GLOBAL)])
    world.set_arg(kernel, 0, world.buffer(64))
    fields = {"event": event, "queue": queue or world.queue}
    return world.launch(kernel, (16,), fields=fields, arrays=_waits(*waits) if waits else {})


def _complete(world: World, event: int) -> None:
    world.call("clSetUserEventStatus", event=event, execution_status=0, tid=2)


def _finish(world: World, queue: int = 0, tid: int = 1) -> None:
    world.call("clFinish", queue=queue or world.queue, tid=tid, open_=True)
    world.header.update(ended=0)


def _of(found: list[Finding]) -> list[Finding]:
    return [f for f in found if f.id == ID]


def test_the_event_its_command_and_the_completed_ones_are_named(world: Make, look: Look) -> None:
    process = world()
    events = [_user_event(process) for _ in range(40)]
    writes = [_write(process, event) for event in events]
    for number, event in enumerate(events):
        if number != 4:
            _complete(process, event)
    _finish(process)
    found = look(process, "timeout", **TIMEOUT)
    (finding,) = _of(found)
    assert finding.site is not None and finding.site.call == "clCreateUserEvent"
    assert (
        f"clEnqueueWriteBuffer (call {writes[4] + 1}), which writes 4,096 bytes to buffer #5, waits for it"
        in finding.message
    )
    assert any(
        e.text.startswith("39 of 40 user events were completed, by clSetUserEventStatus") for e in finding.evidence
    )
    first = diagnose(found, Outcome("timeout", ""))[0]
    assert (first.cause, first.status) == (ID, "confirmed")
    assert not any("loop" in step or "barrier" in step for step in first.fix)


def test_a_launch_that_waits_is_named_with_its_kernel(world: Make, look: Look) -> None:
    process = world()
    _launch(process, _user_event(process))
    _finish(process)
    (finding,) = _of(look(process, "timeout", **TIMEOUT))
    assert "launch 1 of kernel scale" in finding.message


def test_through_a_queue_that_waits_for_another_one(world: Make, look: Look) -> None:
    process, done = world(), 0x5000
    other = process.create("clCreateCommandQueue", context=process.context, device=process.device)
    _write(process, _user_event(process), event=done)
    _launch(process, done, queue=other)
    _finish(process, other)
    assert _of(look(process, "timeout", **TIMEOUT))


def test_in_a_real_program(opencl: OpenCL) -> None:
    finding = opencl.run("hanging", "event", until=waits("clWaitForEvents", 2)).only(ID)
    assert finding.site is not None and finding.site.call == "clCreateUserEvent"
    assert "waits for it" in finding.message and "kernel scale" in finding.message


def _exchange(world: World, *, completes: bool) -> None:
    """A launch whose callback completes user events; its second turn is queued behind the write that waits for one."""
    first, second, sent, again, function = _user_event(world), _user_event(world), 0x5000, 0x6000, 0x400100
    _launch(world, event=sent)
    world.call("clSetEventCallback", event=sent, notify=function)
    world.call("note_callback", event=sent, notify=function, complete=1, tid=2, ticks=100)
    world.call("clSetUserEventStatus", event=first, tid=2 if completes else 3, begin=world._now - 50)
    world.call("clFinish", queue=world.queue)
    _write(world, second)
    _launch(world, event=again)
    world.call("clSetEventCallback", event=again, notify=function)
    _finish(world)


def test_a_circle_of_a_queue_and_a_callback(world: Make, look: Look) -> None:
    process = world()
    _exchange(process, completes=True)
    found = look(process, "timeout", **TIMEOUT)
    (finding,) = _of(found)
    assert finding.causes == ("circular-wait",) and "hung in a circle" in finding.message
    assert finding.site is not None and finding.site.call == "clEnqueueNDRangeKernel"
    assert diagnose(found, Outcome("timeout", ""))[0].status == "confirmed"


def test_a_callback_that_completed_nothing_makes_no_circle(world: Make, look: Look) -> None:
    process = world()
    _exchange(process, completes=False)
    (finding,) = _of(look(process, "timeout", **TIMEOUT))
    assert finding.causes == (ID,)


def _gates(world: World, *, crossed: bool) -> None:
    """Two queues: the launch in each opens, by a callback, a gate that is given to the other as user data."""
    near, far, done, token, function = _user_event(world), _user_event(world), 0x5000, 0x6000, 0x400100
    other = world.create("clCreateCommandQueue", context=world.context, device=world.device)
    _launch(world, *([far] if crossed else []), event=done)
    world.call("clSetEventCallback", event=done, notify=function, data=near)
    _launch(world, near, event=token, queue=other)
    world.call("clSetEventCallback", event=token, notify=function, data=far if crossed else 0)
    _finish(world)


def test_two_queues_that_wait_for_each_other_through_callbacks(world: Make, look: Look) -> None:
    process = world()
    _gates(process, crossed=True)
    found = look(process, "timeout", **TIMEOUT)
    (finding,) = _of(found)
    assert finding.causes == ("circular-wait",) and finding.message.count("is completed by a callback of clEnqueueNDRangeKernel") == 2
    assert finding.site is not None and finding.site.call == "clEnqueueNDRangeKernel"
    assert any(step.startswith("Remove one wait of the circle") for step in finding.steps)
    assert diagnose(found, Outcome("timeout", ""))[0].cause == "circular-wait"


def test_gates_that_one_queue_opens_for_another_make_no_circle(world: Make, look: Look) -> None:
    process = world()
    _gates(process, crossed=False)
    assert not _of(look(process, "timeout", **TIMEOUT))


# ---- silent ----


def test_all_events_completed_is_silent(world: Make, look: Look) -> None:
    process = world()
    event = _user_event(process)
    _write(process, event)
    _complete(process, event)
    _finish(process)
    assert not _of(look(process, "timeout", **TIMEOUT))


def test_program_that_ends_is_silent(world: Make, look: Look) -> None:
    process = world()
    _write(process, _user_event(process))
    assert not _of(look(process))


def test_wait_for_work_in_front_of_the_command_is_silent(world: Make, look: Look) -> None:
    """The program would complete the event after this wait: what hangs is the launch."""
    process, done = world(), 0x5000
    event = _user_event(process)
    _launch(process, event=done)
    _write(process, event)
    process.call("clWaitForEvents", arrays={"events": struct.pack("<Q", done)}, num_events=1, open_=True)
    process.header.update(ended=0)
    assert not _of(look(process, "timeout", **TIMEOUT))


def test_other_command_of_an_out_of_order_queue_is_silent(world: Make, look: Look) -> None:
    process, done = world(), 0x5000
    queue = process.create(
        "clCreateCommandQueue", context=process.context, device=process.device, properties=OUT_OF_ORDER
    )
    _write(process, _user_event(process), queue=queue)
    _launch(process, event=done, queue=queue)
    process.call("clWaitForEvents", arrays={"events": struct.pack("<Q", done)}, num_events=1, open_=True)
    process.header.update(ended=0)
    assert not _of(look(process, "timeout", **TIMEOUT))


def test_other_thread_that_waits_for_a_kernel_is_silent(world: Make, look: Look) -> None:
    """It may complete the event when its kernel ends: the kernel is what hangs."""
    process = world()
    other = process.create("clCreateCommandQueue", context=process.context, device=process.device)
    _write(process, _user_event(process))
    _launch(process, queue=other)
    _finish(process)
    _finish(process, other, tid=2)
    assert not _of(look(process, "timeout", **TIMEOUT))


@pytest.mark.parametrize("behind", [False, True])
def test_callback_that_may_complete_it(world: Make, look: Look, behind: bool) -> None:
    """A callback of work that waits for the event itself cannot be what completes it."""
    process, done = world(), 0x5000
    other = process.create("clCreateCommandQueue", context=process.context, device=process.device)
    _write(process, _user_event(process))
    _launch(process, event=done, queue=process.queue if behind else other)
    process.call("clSetEventCallback", event=done)
    _finish(process)
    assert bool(_of(look(process, "timeout", **TIMEOUT))) == behind


def test_callback_of_work_that_has_ended_did_not_complete_it(world: Make, look: Look) -> None:
    process, done = world(), 0x5000
    other = process.create("clCreateCommandQueue", context=process.context, device=process.device)
    _write(process, _user_event(process))
    _launch(process, event=done, queue=other)
    process.call("clSetEventCallback", event=done)
    process.call("clFinish", queue=other)
    _finish(process)
    assert _of(look(process, "timeout", **TIMEOUT))


# ---- threads that wait for each other ----


def _two_threads(make: Make, completed_by: tuple[int, ...], *, same_event: bool = False) -> World:
    """Each waits for work behind an event of its own; these threads completed events before."""
    process = make()
    for tid in completed_by:
        process.call("clSetUserEventStatus", event=_user_event(process), execution_status=0, tid=tid)
    events = [_user_event(process)] * 2 if same_event else [_user_event(process), _user_event(process)]
    for tid, event in zip((11, 12), events, strict=True):
        queue = process.create("clCreateCommandQueue", context=process.context, device=process.device, tid=tid)
        _launch(process, event, queue=queue)
        _finish(process, queue, tid)
    return process


def test_threads_that_wait_for_each_other(world: Make, look: Look) -> None:
    (finding,) = _of(look(_two_threads(world, (11, 12)), "timeout", **TIMEOUT))
    assert finding.causes == ("circular-wait",) and finding.site is not None and finding.site.call == "clFinish"
    assert "2 threads wait for each other: each waits in clFinish for a user event" in finding.message
    assert [one.text.split(" is in ")[0] for one in finding.evidence[:2]] == ["thread 11", "thread 12"]
    assert finding.steps[0].startswith("Complete the user event before this clFinish")


@pytest.mark.parametrize(
    ("completed_by", "same"),
    [
        ((), False),  # who completes them is not known
        ((1,), False),  # the main thread does, and has skipped it
        ((11, 12, 1), False),
        ((11,), False),
        ((11, 12), True),  # both wait for one event
    ],
)
def test_threads_that_may_wait_for_another_one(world: Make, look: Look, completed_by: tuple[int, ...], same: bool) -> None:
    (finding,) = _of(look(_two_threads(world, completed_by, same_event=same), "timeout", **TIMEOUT))
    assert finding.causes == (ID,) and finding.site is not None and finding.site.call == "clCreateUserEvent"


FUNCTION = """static void step(struct part *p)
{
    clFinish(p->queue);
    if (p->peer)
        clSetUserEventStatus(p->sent, CL_COMPLETE);
}
static void other(struct part *p)
{
    clFinish(p->queue);
}
static void third(struct part *p) { clSetUserEventStatus(p->sent, CL_COMPLETE); }
"""


@pytest.mark.parametrize(("line", "expected"), [(3, 5), (5, 0), (9, 0)])
def test_the_line_behind_a_wait(tmp_path: Path, line: int, expected: int) -> None:
    source = tmp_path / "step.c"
    source.write_text(FUNCTION)
    names = ["clSetUserEventStatus"]
    assert completes_behind(f"{source}:{line}", names) == expected
    assert completes_behind(f"{tmp_path}/none.c:{line}", names) == 0 and completes_behind("", names) == 0
