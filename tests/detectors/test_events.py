"""Waits for events that nothing had recorded; synthetic traces."""

from __future__ import annotations

import pytest
from support.cuda_world import CudaWorld
from support.detecting import Look

from gpudx.model import Finding

SCALE, COPY = "_Z5scalePfi", "_Z4copyPfPKfi"
ID = "wait-for-unrecorded-event"


@pytest.fixture
def cuda(schema: str) -> CudaWorld:
    return CudaWorld(schema)


def of(found: list[Finding]) -> list[Finding]:
    return [f for f in found if f.id == ID]


def streams(cuda: CudaWorld) -> tuple[int, int]:
    return cuda.create("cuStreamCreate", flags=1), cuda.create("cuStreamCreate", flags=1)


def event(cuda: CudaWorld) -> int:
    return cuda.create("cuEventCreate", flags=2)


def record(cuda: CudaWorld, which: int, queue: int, **more: int) -> int:
    return cuda.call("cuEventRecord", event=which, queue=queue, **more)


def wait(cuda: CudaWorld, which: int, queue: int, **more: int) -> int:
    return cuda.call("cuStreamWaitEvent", event=which, queue=queue, **more)


def fill(cuda: CudaWorld, memory: int, queue: int) -> int:
    return cuda.call("cuMemsetD8Async", dst=memory, value=0, count=4096, queue=queue)


@pytest.mark.parametrize("late", [False, True])
def test_work_that_the_wait_was_to_order(cuda: CudaWorld, look: Look, late: bool) -> None:
    (first, second), ready = streams(cuda), event(cuda)
    memory, kernel = cuda.alloc(4096), cuda.kernel(SCALE, [8, 4])
    filled = fill(cuda, memory, first)
    at = wait(cuda, ready, second)
    if late:
        record(cuda, ready, first)
    used = cuda.launch(kernel, [memory, 4], queue=second)
    (one,) = of(look(cuda))
    assert one.severity == "error" and one.site is not None and one.site.number == at + 1
    assert ("recorded only afterwards" if late else "never recorded") in one.message
    assert f"(call {filled + 1}) and kernel scale (call {used + 1})" in one.message and "memory #1" in one.message


def test_kernels_that_may_write_are_a_warning(cuda: CudaWorld, look: Look) -> None:
    (first, second), ready = streams(cuda), event(cuda)
    memory, kernel = cuda.alloc(4096), cuda.kernel(SCALE, [8, 4])
    cuda.launch(kernel, [memory, 4], queue=first)
    wait(cuda, ready, second)
    cuda.launch(kernel, [memory, 4], queue=second)
    (one,) = of(look(cuda))
    assert one.severity == "warning" and "may write" in one.evidence[-2].text


@pytest.mark.parametrize("verb", ["cuStreamWaitEvent", "cuEventSynchronize"])
def test_an_event_that_is_never_recorded_is_a_note(cuda: CudaWorld, look: Look, verb: str) -> None:
    ready = event(cuda)
    more = {"queue": cuda.queue} if verb == "cuStreamWaitEvent" else {}
    cuda.call(verb, event=ready, **more)
    (one,) = of(look(cuda))
    assert one.severity == "info" and not one.causes


def test_a_place_that_waits_for_many_such_events_is_noted_once(cuda: CudaWorld, look: Look) -> None:
    for _ in range(10):
        wait(cuda, event(cuda), cuda.queue)
    assert len(of(look(cuda))) == 1


def test_double_buffering_is_silent(cuda: CudaWorld, look: Look) -> None:
    """In the first round the copies wait for buffers that nobody has used yet."""
    copying, computing = streams(cuda)
    kernel = cuda.kernel(COPY, [8, 8, 4])
    out, weights = cuda.alloc(4096), cuda.alloc(4096)
    rounds = [(cuda.alloc(4096), event(cuda), event(cuda)) for _ in range(2)]
    pinned = cuda.create("cuMemHostAlloc", size=8192)
    fill(cuda, weights, computing)
    for turn in range(6):
        memory, ready, free = rounds[turn % 2]
        wait(cuda, free, copying)
        source = pinned + 4096 * (turn % 2)
        cuda.call("cuMemcpyHtoDAsync_v2", dst=memory, src=source, size=4096, queue=copying)
        record(cuda, ready, copying)
        wait(cuda, ready, computing)
        cuda.launch(kernel, [out, memory, 4], queue=computing)
        cuda.launch(kernel, [out, weights, 4], queue=computing)
        record(cuda, free, computing)
    cuda.call("cuCtxSynchronize")
    cuda.call("cuMemFreeHost", mem=pinned)
    assert not look(cuda)


def test_an_event_of_a_graph_or_another_process_is_silent(cuda: CudaWorld, look: Look) -> None:
    shared, in_graph, foreign = event(cuda), event(cuda), cuda.create("cuIpcOpenEventHandle")
    cuda.call("cuIpcGetEventHandle", event=shared)
    cuda.create("cuGraphAddEventRecordNode", event=in_graph)
    for one in (shared, in_graph, foreign):
        wait(cuda, one, cuda.queue)
    assert not of(look(cuda))


def test_a_record_of_an_earlier_life_does_not_count(cuda: CudaWorld, look: Look) -> None:
    first = event(cuda)
    record(cuda, first, cuda.queue)
    cuda.call("cuEventDestroy_v2", event=first)
    cuda.create("cuEventCreate", result=first, flags=2)
    wait(cuda, first, cuda.queue)
    assert len(of(look(cuda))) == 1


# ---- recorded again ----


@pytest.mark.parametrize("again", [True, False])
def test_an_event_that_was_recorded_again_elsewhere(cuda: CudaWorld, look: Look, again: bool) -> None:
    (first, second), other, done = streams(cuda), cuda.create("cuStreamCreate", flags=1), event(cuda)
    memory, kernel = cuda.alloc(4096), cuda.kernel(SCALE, [8, 4])
    fill(cuda, memory, first)
    meant = record(cuda, done, first)
    instead = record(cuda, done, other if again else first)
    at = wait(cuda, done, second)
    cuda.launch(kernel, [memory, 4], queue=second)
    found = look(cuda)
    assert bool(found) == again
    if again:
        (one,) = [f for f in found if f.id == "wait-for-replaced-event"]
        assert one.severity == "error" and one.site is not None and one.site.number == at + 1
        assert [s.number for s in one.others[:2]] == [meant + 1, instead + 1]


def test_an_event_that_is_recorded_again_after_the_wait_is_silent(cuda: CudaWorld, look: Look) -> None:
    (first, second), other, done = streams(cuda), cuda.create("cuStreamCreate", flags=1), event(cuda)
    memory, kernel = cuda.alloc(4096), cuda.kernel(SCALE, [8, 4])
    for _ in range(3):
        fill(cuda, memory, first)
        record(cuda, done, first)
        wait(cuda, done, second)
        record(cuda, done, other)
        cuda.launch(kernel, [memory, 4], queue=second)
        record(cuda, done, second)
        wait(cuda, done, first)
    assert not look(cuda)
