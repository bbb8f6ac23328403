"""Happens-before: each rule once where it orders two operations, and once where nothing does. All processes are written by
hand, from the specifications that facts/edges.py and facts/clocks.py name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.cuda_world import CudaWorld
from support.synthetic import World

from gpudx.facts import Facts, derive
from gpudx.facts.happens import Happens

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
