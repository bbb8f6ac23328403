"""Happens-before: each rule once where it orders two operations, and once where nothing does. All processes are written by
hand, from the specifications that facts/edges.py and facts/clocks.py name."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.cuda_world import CudaWorld
from support.synthetic import World

from gpudx.facts import Facts, derive
from gpudx.facts.order.happens import Happens
from gpudx.trace import open_trace

SCALE = "_Z5scalePfi"
PAGEABLE = 0x5000
Both = tuple[bool, bool]


@pytest.fixture
def cuda(schema: str) -> CudaWorld:
    return CudaWorld(schema)


@pytest.fixture
def opencl(schema: str) -> World:
    return World(schema)


@pytest.fixture
def facts(tmp_path: Path) -> Callable[[World], Facts]:
    return lambda world: derive(world.write(tmp_path / "1-0.gdx"))


def ordered(happens: Happens, first: int, second: int) -> bool:
    """Of the calls at two positions."""
    rows = happens.op_at(np.array([first, second]))
    assert (rows >= 0).all()
    return bool(happens.ordered(rows[:1], rows[1:])[0])


def known(happens: Happens, first: int, host: int) -> bool:
    return bool(happens.done_before_host(happens.op_at(np.array([first])), np.array([host]))[0])


class Streams:
    """Launches on streams of a CUDA process, told by letters: a and b do not block, c and d do."""

    def __init__(self, world: CudaWorld, **more: Any) -> None:
        self.world = world
        self.kernel = world.kernel(SCALE, [8, 4])
        self.memory = world.alloc(4096)
        self.stream = {"0": 0, "1": 1, "2": 2}
        for name in "abcd":
            self.stream[name] = world.create("cuStreamCreate", flags=int(name in "ab"), **more)
        self.events: dict[str, int] = {}

    def run(self, stream: str, **more: Any) -> int:
        return self.world.launch(self.kernel, [self.memory, 8], queue=self.stream[stream], **more)

    def event(self, name: str) -> int:
        if name not in self.events:
            self.events[name] = self.world.create("cuEventCreate", flags=2)
        return self.events[name]

    def record(self, event: str, stream: str, **more: Any) -> int:
        return self.world.call("cuEventRecord", event=self.event(event), queue=self.stream[stream], **more)

    def wait(self, stream: str, event: str, **more: Any) -> int:
        return self.world.call("cuStreamWaitEvent", queue=self.stream[stream], event=self.event(event), **more)


@pytest.fixture
def streams(cuda: CudaWorld) -> Streams:
    return Streams(cuda)


Make = Callable[[World], Facts]


def test_operations_are_listed_in_order(streams: Streams, facts: Make) -> None:
    first, mark, second = streams.run("a"), streams.record("e", "a"), streams.run("b")
    third = streams.run("a")
    happens = facts(streams.world).happens
    assert happens.ops["position"].tolist() == [first, mark, second, third]
    assert happens.ops["index"].tolist() == [0, 1, 0, 2]
    assert happens.op_at(np.array([first, first - 1, third])).tolist() == [0, -1, 3]
    assert happens.queues.label(int(happens.ops["queue"][2])) == "queue #3"


def test_stream_order(streams: Streams, facts: Make) -> None:
    first, second, other = streams.run("a"), streams.run("a"), streams.run("b")
    happens = facts(streams.world).happens
    assert ordered(happens, first, second) and not ordered(happens, second, first)
    assert not ordered(happens, first, other) and not ordered(happens, other, first)


def test_failed_calls_are_no_operations(streams: Streams, facts: Make) -> None:
    failed = streams.run("a", status=700)
    assert facts(streams.world).happens.op_at(np.array([failed])).tolist() == [-1]


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("c", "0", True),
        ("0", "c", True),
        ("1", "c", True),
        ("a", "0", False),
        ("0", "a", False),
        ("2", "0", True),
        ("0", "2", True),
        ("2", "a", False),
        ("2", "c", False),
        ("c", "d", False),
    ],
)
def test_default_streams(streams: Streams, facts: Make, first: str, second: str, expected: bool) -> None:
    """The legacy default stream (0, 1) orders itself with streams that block (c, d) and with those of threads (2)."""
    calls = streams.run(first), streams.run(second)
    assert ordered(facts(streams.world).happens, *calls) is expected


def test_default_stream_orders_two_others(streams: Streams, facts: Make) -> None:
    before, _, after, later = streams.run("c"), streams.run("0"), streams.run("d"), streams.run("a")
    happens = facts(streams.world).happens
    assert ordered(happens, before, after) and not ordered(happens, before, later)


def test_default_streams_of_two_contexts(streams: Streams, facts: Make) -> None:
    first, second = streams.run("0", in_context=1), streams.run("0", in_context=2)
    assert not ordered(facts(streams.world).happens, first, second)


def test_each_thread_has_a_default_stream(streams: Streams, facts: Make) -> None:
    first, same, other = streams.run("2"), streams.run("2"), streams.run("2", tid=2)
    happens = facts(streams.world).happens
    assert ordered(happens, first, same) and not ordered(happens, first, other)


def test_threads_on_one_stream_are_in_order(streams: Streams, facts: Make) -> None:
    first, second = streams.run("a"), streams.run("a", tid=2)
    assert ordered(facts(streams.world).happens, first, second)


def test_event(streams: Streams, facts: Make) -> None:
    first = streams.run("a")
    streams.record("e", "a")
    late = streams.run("a")
    early = streams.run("b")
    streams.wait("b", "e")
    second, after = streams.run("b"), streams.run("b")
    happens = facts(streams.world).happens
    assert ordered(happens, first, second) and ordered(happens, first, after)
    assert not ordered(happens, first, early) and not ordered(happens, late, second)


def test_events_are_transitive(streams: Streams, facts: Make) -> None:
    first = streams.run("a")
    streams.record("e", "a")
    streams.wait("b", "e")
    streams.record("f", "b")
    streams.wait("c", "f")
    second = streams.run("c")
    assert ordered(facts(streams.world).happens, first, second)


def test_event_recorded_after_the_wait_orders_nothing(streams: Streams, facts: Make) -> None:
    first = streams.run("a")
    streams.wait("b", "e")
    streams.record("e", "a")
    second = streams.run("b")
    assert not ordered(facts(streams.world).happens, first, second)


def test_wait_takes_the_latest_record(streams: Streams, facts: Make) -> None:
    first = streams.run("a")
    streams.record("e", "a")
    between = streams.run("c")
    streams.record("e", "c")
    streams.wait("b", "e")
    second = streams.run("b")
    happens = facts(streams.world).happens
    assert ordered(happens, between, second) and not ordered(happens, first, second)


def test_wait_keeps_the_record_it_took(streams: Streams, facts: Make) -> None:
    first = streams.run("a")
    streams.record("e", "a")
    streams.wait("b", "e")
    streams.record("e", "c")
    second = streams.run("b")
    assert ordered(facts(streams.world).happens, first, second)


def test_event_of_a_former_life_orders_nothing(streams: Streams, facts: Make) -> None:
    first = streams.run("a")
    streams.record("e", "a")
    old = streams.events["e"]
    streams.world.call("cuEventDestroy_v2", event=old)
    streams.world.create("cuEventCreate", result=old, flags=2)
    streams.wait("b", "e")
    second = streams.run("b")
    assert not ordered(facts(streams.world).happens, first, second)


def test_event_of_another_process_may_order_anything(streams: Streams, facts: Make) -> None:
    first = streams.run("a")
    streams.events["e"] = streams.world.create("cuIpcOpenEventHandle")
    streams.wait("b", "e")
    second = streams.run("b")
    assert ordered(facts(streams.world).happens, first, second)


def test_values_in_memory_are_not_known(streams: Streams, facts: Make) -> None:
    first, before = streams.run("a"), streams.run("b")
    streams.world.call("cuStreamWaitValue32_v2", queue=streams.stream["b"], address=streams.memory, value=1)
    second, later, other = streams.run("b"), streams.run("a"), streams.run("c")
    happens = facts(streams.world).happens
    assert ordered(happens, first, second) and ordered(happens, later, second), (
        "it may wait for what is asked for later"
    )
    assert not ordered(happens, first, before) and not ordered(happens, first, other)


def test_doubt_ends_when_the_host_has_waited(streams: Streams, facts: Make) -> None:
    streams.world.call("cuStreamWaitValue32_v2", queue=streams.stream["b"], address=streams.memory, value=1)
    streams.run("b")
    streams.world.call("cuStreamSynchronize", queue=streams.stream["b"])
    first, second = streams.run("a"), streams.run("b")
    assert not ordered(facts(streams.world).happens, first, second)


def test_value_written_to_memory_may_tell_the_host(streams: Streams, facts: Make) -> None:
    first = streams.run("a")
    streams.world.call("cuStreamWriteValue32_v2", queue=streams.stream["a"], address=streams.memory, value=1)
    second = streams.run("b")
    assert ordered(facts(streams.world).happens, first, second)


@pytest.mark.parametrize("call", ["cuLaunchHostFunc", "cuStreamAddCallback"])
def test_host_functions_may_tell_the_host(streams: Streams, facts: Make, call: str) -> None:
    first = streams.run("a")
    hook = streams.world.call(call, queue=streams.stream["a"])
    after, second = streams.run("a"), streams.run("b")
    happens = facts(streams.world).happens
    assert ordered(happens, first, second) and ordered(happens, hook, after) and not ordered(happens, after, second)


SYNCHRONISED = [
    ("cuCtxSynchronize", {}),
    ("cuStreamSynchronize", {"queue": "a"}),
    ("cuStreamQuery", {"queue": "a"}),
    ("cuEventSynchronize", {"event": "e"}),
    ("cuEventQuery", {"event": "e"}),
]


@pytest.mark.parametrize(("call", "fields"), SYNCHRONISED)
def test_waits_of_the_host(streams: Streams, facts: Make, call: str, fields: dict[str, str]) -> None:
    first = streams.run("a")
    streams.record("e", "a")
    values = {k: streams.event(v) if k == "event" else streams.stream[v] for k, v in fields.items()}
    wait = streams.world.call(call, **values)
    second = streams.run("b")
    happens = facts(streams.world).happens
    assert ordered(happens, first, second) and known(happens, first, second) and not known(happens, first, wait)


@pytest.mark.parametrize(("call", "fields"), SYNCHRONISED[1:])
def test_waits_for_something_else(streams: Streams, facts: Make, call: str, fields: dict[str, str]) -> None:
    streams.record("e", "c")
    first = streams.run("a")
    values = {k: streams.event(v) if k == "event" else streams.stream["c"] for k, v in fields.items()}
    streams.world.call(call, **values)
    second = streams.run("b")
    assert not ordered(facts(streams.world).happens, first, second)


@pytest.mark.parametrize("call", ["cuStreamSynchronize", "cuCtxSynchronize"])
def test_waits_that_failed_order_nothing(streams: Streams, facts: Make, call: str) -> None:
    first = streams.run("a")
    streams.world.call(call, status=700, **({"queue": streams.stream["a"]} if "Stream" in call else {}))
    second = streams.run("b")
    assert not ordered(facts(streams.world).happens, first, second)


def test_wait_for_a_context_leaves_others(streams: Streams, facts: Make) -> None:
    world = streams.world
    one, two = (world.create("cuStreamCreate", flags=1, in_context=n) for n in (1, 2))
    streams.stream |= {"x": one, "y": two}
    first, second = streams.run("x", in_context=1), streams.run("y", in_context=2)
    world.call("cuCtxSynchronize", in_context=2)
    after = streams.run("a", in_context=3)
    happens = facts(world).happens
    assert not ordered(happens, first, after) and ordered(happens, second, after)


@pytest.mark.parametrize("number", [0, 1, 2])
def test_wait_for_a_context_that_is_given(streams: Streams, facts: Make, number: int) -> None:
    """The other one's work is not waited for. One that no call was seen in may be any: nobody is accused then."""
    world = streams.world
    contexts = [world.handle() for _ in range(3)]
    for one in (1, 2):
        world.note("note_context", {"number": one, "context": contexts[one], "device": 0})
        streams.stream[str(one)] = world.create("cuStreamCreate", flags=1, in_context=one)
    work = {one: streams.run(str(one), in_context=one) for one in (1, 2)}
    world.call("cuCtxSynchronize_v2", context=contexts[number], in_context=2)
    after = streams.run("a", in_context=3)
    happens = facts(world).happens
    assert [ordered(happens, work[one], after) for one in (1, 2)] == [number in (0, one) for one in (1, 2)]


def test_wait_for_the_default_stream_covers_those_that_block(streams: Streams, facts: Make) -> None:
    first, alone = streams.run("c"), streams.run("a")
    streams.world.call("cuStreamSynchronize", queue=0)
    second = streams.run("b")
    happens = facts(streams.world).happens
    assert ordered(happens, first, second) and not ordered(happens, alone, second)


PINNED, DEVICE, MANAGED, HOST = "pinned", "device", "managed", "pageable"


@pytest.mark.parametrize(
    ("call", "src", "dst", "expected"),
    [
        ("cuMemcpyHtoD_v2", PINNED, DEVICE, True),
        ("cuMemcpyHtoD_v2", HOST, DEVICE, True),  # may not have arrived: not known
        ("cuMemcpyDtoH_v2", DEVICE, HOST, True),
        ("cuMemcpyDtoD_v2", DEVICE, DEVICE, False),
        ("cuMemcpy", DEVICE, DEVICE, False),
        ("cuMemcpy", DEVICE, MANAGED, True),
        ("cuMemcpyHtoDAsync_v2", PINNED, DEVICE, False),
        ("cuMemcpyHtoDAsync_v2", HOST, DEVICE, True),  # may be synchronous: not known
        ("cuMemcpyDtoHAsync_v2", DEVICE, PINNED, False),
        ("cuMemcpyDtoHAsync_v2", DEVICE, HOST, True),
        ("cuMemcpyAsync", DEVICE, PINNED, False),
        ("cuMemcpyAsync", DEVICE, HOST, True),
        ("cuMemcpyDtoDAsync_v2", DEVICE, DEVICE, False),
    ],
)
def test_which_copies_the_host_waits_for(
    streams: Streams, facts: Make, call: str, src: str, dst: str, expected: bool
) -> None:
    world = streams.world
    place = {
        PINNED: world.create("cuMemAllocHost_v2", result=0x7000_0000_0000, size=4096),
        MANAGED: world.create("cuMemAllocManaged", result=0x6000_0000_0000, size=4096),
        DEVICE: streams.memory,
        HOST: PAGEABLE,
    }
    copy = world.call(
        call, src=place[src], dst=place[dst], size=64, queue=streams.stream["a"] if "Async" in call else 0
    )
    second = streams.run("b")
    assert ordered(facts(world).happens, copy, second) is expected


def test_fills_do_not_make_the_host_wait(streams: Streams, facts: Make) -> None:
    world = streams.world
    pinned = world.create("cuMemAllocHost_v2", result=0x7000_0000_0000, size=4096)
    device, host = (world.call("cuMemsetD8_v2", dst=at, count=64) for at in (streams.memory, pinned))
    second = streams.run("b")
    happens = facts(world).happens
    assert ordered(happens, host, second) and ordered(happens, device, second), "what came before it in the same stream"
    assert not known(happens, device, host) and known(happens, host, second)


def test_free_waits_and_allocation_does_not(streams: Streams, facts: Make) -> None:
    first = streams.run("a")
    streams.world.alloc(64)
    between = streams.run("b")
    streams.world.free(streams.memory)
    second = streams.run("c")
    happens = facts(streams.world).happens
    assert not ordered(happens, first, between) and ordered(happens, first, second)


def test_free_of_memory_from_a_pool_does_not_wait(streams: Streams, facts: Make) -> None:
    memory = streams.world.create("cuMemAllocAsync", result=0x7E0000000000, size=512, queue=streams.stream["c"])
    first = streams.run("a")
    streams.world.free(memory)
    second = streams.run("b")
    assert not ordered(facts(streams.world).happens, first, second)


def test_memory_in_stream_order_is_an_operation(streams: Streams, facts: Make) -> None:
    world, a = streams.world, streams.stream["a"]
    memory = world.create("cuMemAllocAsync", result=0x7E0000000000, size=512, queue=a)
    made, use, other = len(world._calls) - 1, streams.run("a"), streams.run("b")
    free = world.call("cuMemFreeAsync", mem=memory, queue=a)
    happens = facts(world).happens
    assert ordered(happens, made, use) and ordered(happens, use, free)
    assert not ordered(happens, made, other) and not ordered(happens, other, free)


def test_graph_launch_is_an_operation(streams: Streams, facts: Make) -> None:
    graph = streams.world.graph(streams.kernel, [streams.memory, 8])
    launch = streams.world.call("cuGraphLaunch", graph_exec=graph, queue=streams.stream["a"])
    same, other = streams.run("a"), streams.run("b")
    happens = facts(streams.world).happens
    assert ordered(happens, launch, same) and not ordered(happens, launch, other)


def test_launches_of_one_graph_wait_for_each_other(streams: Streams, facts: Make) -> None:
    one, two = (streams.world.graph(streams.kernel, [streams.memory, 8]) for _ in range(2))
    launches = [
        streams.world.call("cuGraphLaunch", graph_exec=graph, queue=streams.stream[name])
        for graph, name in ((one, "a"), (one, "b"), (two, "c"))
    ]
    happens = facts(streams.world).happens
    assert ordered(happens, *launches[:2]) and not ordered(happens, launches[0], launches[2])


def test_threads_know_what_others_waited_for_by_time(streams: Streams, facts: Make) -> None:
    """Locks of the program's own cannot be seen: a wait that had ended counts for all, one that had not for none."""
    first = streams.run("a")
    streams.world.call("cuCtxSynchronize", tid=2, begin=100_000, ticks=1000)
    during = streams.run("b", begin=100_500)
    after = streams.run("c", begin=102_000)
    happens = facts(streams.world).happens
    assert ordered(happens, first, after) and not ordered(happens, first, during)


# ---- OpenCL ----


class Queues:
    """Fills in queues of an OpenCL process: a and b are in order, x and y are not."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.buffer = world.buffer(4096)
        self.queue = {
            name: world.create("clCreateCommandQueue", context=world.context, properties=int(name in "xy"))
            for name in "abxy"
        }

    def run(self, queue: str, *waits: int, call: str = "clEnqueueFillBuffer", **more: Any) -> tuple[int, int]:
        """The position of the call and its event."""
        event = self.world.handle()
        arrays = {"waits": struct.pack(f"<{len(waits)}Q", *waits)} if waits else {}
        fields = {"buffer": self.buffer, "size": 64} if "Buffer" in call else {}
        return self.world.call(call, queue=self.queue[queue], event=event, arrays=arrays, **fields, **more), event


@pytest.fixture
def queues(opencl: World) -> Queues:
    return Queues(opencl)


def test_in_order_queues(queues: Queues, facts: Make) -> None:
    (first, _), (second, _), (other, _) = queues.run("a"), queues.run("a"), queues.run("b")
    happens = facts(queues.world).happens
    assert ordered(happens, first, second) and not ordered(happens, first, other)


def test_out_of_order_queue_has_only_its_events(queues: Queues, facts: Make) -> None:
    (first, event), (free, _) = queues.run("x"), queues.run("x")
    second, _ = queues.run("x", event)
    happens = facts(queues.world).happens
    assert ordered(happens, first, second)
    assert not ordered(happens, first, free) and not ordered(happens, free, second)


def test_out_of_order_by_a_list_of_properties(queues: Queues, facts: Make) -> None:
    properties = struct.pack("<3Q", 0x1093, 1, 0)
    queue = queues.world.create(
        "clCreateCommandQueueWithProperties", context=queues.world.context, arrays={"properties": properties}
    )
    queues.queue["z"] = queue
    (first, _), (second, _) = queues.run("z"), queues.run("z")
    assert not ordered(facts(queues.world).happens, first, second)


def test_wait_lists_across_queues(queues: Queues, facts: Make) -> None:
    (first, event), (later, _) = queues.run("a"), queues.run("a")
    (second, _), (after, _) = queues.run("b", event), queues.run("b")
    happens = facts(queues.world).happens
    assert ordered(happens, first, second) and ordered(happens, first, after) and not ordered(happens, later, second)


def test_events_whose_handle_was_used_again(queues: Queues, facts: Make) -> None:
    (first, event) = queues.run("a")
    (other, _) = queues.run("y")
    queues.world._calls[other].fields["event"] = event
    (second, _) = queues.run("b", event)
    happens = facts(queues.world).happens
    assert ordered(happens, other, second) and not ordered(happens, first, second)


@pytest.mark.parametrize(
    ("call", "before", "after"),
    [
        ("clEnqueueBarrier", True, True),
        ("clEnqueueBarrierWithWaitList", True, True),
        ("clEnqueueMarkerWithWaitList", True, False),
    ],
)
def test_barriers_and_marks_out_of_order(queues: Queues, facts: Make, call: str, before: bool, after: bool) -> None:
    first, _ = queues.run("x")
    if call == "clEnqueueBarrier":
        mark = queues.world.call(call, queue=queues.queue["x"])
    else:
        mark, _ = queues.run("x", call=call)
    second, _ = queues.run("x")
    happens = facts(queues.world).happens
    assert ordered(happens, first, mark) is before and ordered(happens, first, second) is after


def test_barrier_with_a_list_waits_for_the_list_only(queues: Queues, facts: Make) -> None:
    (first, event), (other, _) = queues.run("x"), queues.run("x")
    queues.run("x", event, call="clEnqueueBarrierWithWaitList")
    second, _ = queues.run("x")
    happens = facts(queues.world).happens
    assert ordered(happens, first, second) and not ordered(happens, other, second)


def test_marks_event_stands_for_all_before_it(queues: Queues, facts: Make) -> None:
    first, _ = queues.run("x")
    _, event = queues.run("x", call="clEnqueueMarkerWithWaitList")
    late, _ = queues.run("x")
    second, _ = queues.run("b", event)
    happens = facts(queues.world).happens
    assert ordered(happens, first, second) and not ordered(happens, late, second)


@pytest.mark.parametrize("queue", ["a", "x"])
@pytest.mark.parametrize(("call", "expected"), [("clFinish", True), ("clFlush", False)])
def test_finish_waits_and_flush_does_not(queues: Queues, facts: Make, queue: str, call: str, expected: bool) -> None:
    first, _ = queues.run(queue)
    queues.world.call(call, queue=queues.queue[queue])
    second, _ = queues.run("b")
    assert ordered(facts(queues.world).happens, first, second) is expected


def test_host_waits_for_events(queues: Queues, facts: Make) -> None:
    (first, event), (other, _) = queues.run("x"), queues.run("x")
    queues.world.call("clWaitForEvents", num_events=1, arrays={"events": struct.pack("<Q", event)})
    second, _ = queues.run("b")
    happens = facts(queues.world).happens
    assert ordered(happens, first, second) and not ordered(happens, other, second)


@pytest.mark.parametrize(("queue", "before"), [("a", True), ("x", False)])
@pytest.mark.parametrize("blocking", [0, 1])
def test_blocking_commands(queues: Queues, facts: Make, queue: str, before: bool, blocking: int) -> None:
    first, _ = queues.run(queue)
    read, _ = queues.run(queue, call="clEnqueueReadBuffer", blocking=blocking)
    second, _ = queues.run("b")
    happens = facts(queues.world).happens
    assert ordered(happens, read, second) is bool(blocking)
    assert ordered(happens, first, second) is (before and bool(blocking))


@pytest.mark.parametrize(("what", "expected"), [(0x11D3, True), (0x11D2, False)])
def test_asking_for_the_status_may_have_been_a_wait(queues: Queues, facts: Make, what: int, expected: bool) -> None:
    first, event = queues.run("a")
    queues.world.call("clGetEventInfo", event=event, what=what)
    second, _ = queues.run("b")
    assert ordered(facts(queues.world).happens, first, second) is expected


def test_callback_may_tell_the_host(queues: Queues, facts: Make) -> None:
    first, event = queues.run("a")
    queues.world.call("clSetEventCallback", event=event)
    second, _ = queues.run("b")
    assert ordered(facts(queues.world).happens, first, second)


def test_callback_that_is_called_at_once_may_signal(queues: Queues, facts: Make) -> None:
    """The event was complete when the callback was registered: it runs, and signals, inside the call that registers it."""
    world = queues.world
    user = world.create("clCreateUserEvent", context=world.context)
    (held, _), (first, event) = queues.run("b", user), queues.run("a")
    world.call("clSetEventCallback", event=event, begin=100_000, ticks=1000)
    world.call("clSetUserEventStatus", event=user, begin=100_500)
    assert ordered(facts(world).happens, first, held)


def test_signal_of_the_host_orders_what_it_had_waited_for(queues: Queues, facts: Make) -> None:
    """Everything that the host knew to be done when it signals is done before what waits for the signal."""
    world = queues.world
    user, other = (world.create("clCreateUserEvent", context=world.context) for _ in range(2))
    held, _ = queues.run("b", user)
    free, _ = queues.run("x", other)
    world.call("clSetUserEventStatus", event=other)
    first, _ = queues.run("a")
    world.call("clFinish", queue=queues.queue["a"])
    world.call("clSetUserEventStatus", event=user)
    happens = facts(world).happens
    assert ordered(happens, first, held) and not ordered(happens, first, free)


def test_what_waits_for_a_signal_that_never_came_is_not_judged(queues: Queues, facts: Make) -> None:
    user = queues.world.create("clCreateUserEvent", context=queues.world.context)
    (held, _), (first, _) = queues.run("b", user), queues.run("a")
    assert ordered(facts(queues.world).happens, first, held)


def test_more_lanes_than_are_kept_are_not_judged(queues: Queues, facts: Make) -> None:
    calls = [queues.run("x")[0] for _ in range(300)]
    happens = facts(queues.world).happens
    assert not ordered(happens, calls[0], calls[255]) and ordered(happens, calls[0], calls[299])


def test_lanes_are_used_again(queues: Queues, facts: Make) -> None:
    for _ in range(4):
        calls = [queues.run("x")[0] for _ in range(100)]
        queues.world.call("clFinish", queue=queues.queue["x"])
    last = [queues.run("x")[0] for _ in range(2)]
    happens = facts(queues.world).happens
    assert not ordered(happens, *last) and ordered(happens, calls[0], last[1])


# ---- words and holes ----


def test_missing_edge_is_a_line_of_code(streams: Streams, queues: Queues, facts: Make) -> None:
    calls = streams.run("a"), streams.run("b")
    happens = facts(streams.world).happens
    edge = happens.missing_edge(*map(int, happens.op_at(np.array(calls))))
    assert "cudaEventRecord(e, queue #2) after" in edge.line and "cudaStreamWaitEvent(queue #3, e) before" in edge.line
    assert edge.text.startswith(f"record an event in queue #2 after call {calls[0] + 1}")


def test_missing_edge_of_opencl(queues: Queues, facts: Make) -> None:
    calls = queues.run("a")[0], queues.run("b")[0]
    happens = facts(queues.world).happens
    edge = happens.missing_edge(*map(int, happens.op_at(np.array(calls))))
    assert edge.line.startswith("pass the event of clEnqueueFillBuffer") and "in the wait list of" in edge.line


def test_calls_missing_anywhere_leave_nothing_to_say(streams: Streams, facts: Make) -> None:
    streams.world.header["dropped"] = 1
    calls = streams.run("a"), streams.run("b")
    assert ordered(facts(streams.world).happens, *calls)


def test_nothing_is_said_across_what_was_overwritten(streams: Streams, facts: Make) -> None:
    """The calls of some thread before the second launch are lost: they may have held a wait, or a record."""
    event = streams.event("e")
    first, second, third = streams.run("a"), streams.run("b"), streams.run("c")
    streams.wait("d", "e")
    fourth = streams.run("d")
    found = facts(streams.world)
    found.trace.__dict__["whole_since"] = int(found.trace.column("begin")[second])
    assert event and ordered(found.happens, first, second)
    assert not ordered(found.happens, second, third) and ordered(found.happens, third, fourth)


def test_semaphores_are_not_known(streams: Streams, facts: Make) -> None:
    first = streams.run("a")
    streams.world.call("cuWaitExternalSemaphoresAsync", queue=streams.stream["b"], count=1)
    second, other = streams.run("b"), streams.run("c")
    happens = facts(streams.world).happens
    assert ordered(happens, first, second) and not ordered(happens, first, other)


@pytest.mark.parametrize("how", ["captured", "node", "attribute"])
def test_events_that_graphs_and_launches_mark_are_not_known(streams: Streams, facts: Make, how: str) -> None:
    world, first = streams.world, streams.run("a")
    if how == "captured":
        world._calls[streams.record("e", "a")].flags = 8
    elif how == "node":
        world.call("cuGraphAddEventRecordNode", event=streams.event("e"))
    else:
        attribute = struct.pack("<9Q", 7, streams.event("e"), *[0] * 7)
        world.call("cuLaunchKernelEx", queue=streams.stream["a"], kernel=streams.kernel, arrays={"config": attribute})
    streams.wait("b", "e")
    second, other = streams.run("b"), streams.run("c")
    happens = facts(world).happens
    assert ordered(happens, first, second) and not ordered(happens, first, other)


# ---- why ----


def links(happens: Happens, first: int, second: int) -> list[tuple[str, int, int]]:
    rows = happens.op_at(np.array([first, second]))
    return [(link.by, link.first, link.second) for link in happens.why(int(rows[0]), int(rows[1]))]


def test_why_by_events(streams: Streams, facts: Make) -> None:
    first = streams.run("a")
    one = streams.record("e", "a")
    wait = streams.wait("b", "e")
    two = streams.record("f", "b")
    other = streams.wait("c", "f")
    second = streams.run("c")
    assert links(facts(streams.world).happens, first, second) == [
        ("queue", first, one),
        ("event", one, wait),
        ("queue", wait, two),
        ("event", two, other),
        ("queue", other, second),
    ]


def test_why_by_the_host(streams: Streams, facts: Make) -> None:
    first = streams.run("a")
    wait = streams.world.call("cuCtxSynchronize")
    second = streams.run("b")
    happens = facts(streams.world).happens
    assert links(happens, first, second) == [("waited", first, wait), ("host", wait, second)]
    assert not links(happens, second, first)


def test_why_by_the_default_stream_and_by_doubt(streams: Streams, facts: Make) -> None:
    first, second = streams.run("c"), streams.run("0")
    value = streams.world.call("cuStreamWaitValue32_v2", queue=streams.stream["b"], address=streams.memory, value=1)
    third = streams.run("b")
    happens = facts(streams.world).happens
    assert links(happens, first, second) == [("default", first, second)]
    assert links(happens, first, third) == [("unknown", first, value), ("queue", value, third)]


def test_why_by_a_barrier(queues: Queues, facts: Make) -> None:
    first, _ = queues.run("x")
    mark, _ = queues.run("x", call="clEnqueueBarrierWithWaitList")
    second, _ = queues.run("x")
    assert [by for by, *_ in links(facts(queues.world).happens, first, second)] in (["queue"], ["barrier"])
    assert mark


def test_a_ring_that_wrapped_is_whole_since_its_first_call(streams: Streams, tmp_path: Path) -> None:
    trace = streams.world.write(tmp_path / "1-0.gdx")
    assert trace.whole_since == 0
    data = np.fromfile(tmp_path / "1-0.gdx", np.uint8)
    begin, layouts = int(trace.header["first_unit"]), trace.schema.layouts
    slots = data[begin : begin + layouts["slot"].itemsize * (len(trace) + 1)].view(layouts["slot"])
    slots[:1].view(layouts["chunk"])["first_seq"] += 5
    slots["seq"][1:] += 5
    data.tofile(tmp_path / "2-0.gdx")
    wrapped = open_trace(tmp_path / "2-0.gdx")
    assert len(wrapped) == len(trace) and wrapped.whole_since == int(trace.column("begin")[0])
