"""Happens-before against a plain model: every edge drawn one by one, and their transitive closure. Programs are random.

Each is looked at in one block, and in blocks of seven moments of which one is at hand: the answers, and the conflicts
that follow from them, are those of the model.
"""

from __future__ import annotations

import struct
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.cuda_world import CudaWorld
from support.simulated import times
from support.synthetic import World

from gpudx.facts import Facts, derive
from gpudx.facts.accesses import WRITE

CALM = settings(max_examples=times(200), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
BLOCKING, DEFAULT = "cd", "0"
STREAM, EVENT = st.sampled_from("abcd0"), st.integers(0, 2)
CUDA_STEP = st.one_of(
    st.tuples(st.just("run"), STREAM, EVENT),
    st.tuples(st.just("run"), STREAM, EVENT),
    st.tuples(st.just("record"), STREAM, EVENT),
    st.tuples(st.just("wait"), STREAM, EVENT),
    st.tuples(st.sampled_from(["stream", "event", "context"]), STREAM, EVENT),
)
OPENCL_STEP = st.tuples(
    st.sampled_from(["run", "run", "run", "marker", "barrier", "finish", "wait"]),
    st.sampled_from("abxy"),
    st.lists(st.integers(0, 40), max_size=2),
)


@pytest.fixture(params=["one block", "blocks of seven"])
def blocks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpudx.facts.order.conflicts.MOST_KEPT", 10_000)
    if request.param != "one block":
        for name, value in (("cuts.MOMENTS", 7), ("blocks.MOST_RECENT", 1), ("blocks.MOST_STATES", 2)):
            monkeypatch.setattr(f"gpudx.facts.order.{name}", value)


class Model:
    """A graph of operations and waits of the host. Every operation comes after the waits of the host before it."""

    def __init__(self) -> None:
        self.after: list[set[int]] = []  # per node, all that is complete before it
        self.ops: dict[int, int] = {}  # position -> node
        self.queues: dict[str, list[int]] = {}
        self.host: set[int] = set()
        self.known: dict[int, set[int]] = {}  # position of an operation -> what the host knew when it asked for it

    def add(self, position: int, queue: str, sources: list[int]) -> int:
        known = set(self.host)
        for source in sources:
            known |= self.after[source] | {source}
        self.after.append(known)
        node = len(self.after) - 1
        self.ops[position] = node
        self.known[position] = set(self.host)
        self.queues.setdefault(queue, []).append(node)
        return node

    def waited(self, sources: list[int]) -> None:
        for source in sources:
            self.host |= self.after[source] | {source}

    def all(self, queues: str) -> list[int]:
        return [node for queue in queues for node in self.queues.get(queue, [])]

    def before(self, first: int, second: int) -> bool:
        """Of the operations at two positions."""
        return self.ops[first] in self.after[self.ops[second]]

    def check(self, world: World) -> None:
        with TemporaryDirectory() as folder:
            facts = derive(world.write(Path(folder) / "1-0.gdx"))
            positions = np.array(sorted(self.ops), np.int64)
            first, second = (g.reshape(-1) for g in np.meshgrid(positions, positions))
            rows, others = facts.happens.op_at(first), facts.happens.op_at(second)
            pairs = list(zip(first.tolist(), second.tolist(), strict=True))
            found = facts.happens.ordered(rows, others).tolist()
            assert found == [self.before(one, two) for one, two in pairs]
            found = facts.happens.done_before_host(rows, second).tolist()
            assert found == [self.ops[one] in self.known[two] for one, two in pairs]
            lane = facts.happens.lane
            chained = (lane[rows] == lane[others]) & (first < second)
            assert all(self.before(*pairs[at]) for at in np.flatnonzero(chained))
            self._check_conflicts(facts)

    def _check_conflicts(self, facts: Facts) -> None:
        """Each use is told of against the last write, and the last read, of each lane that it conflicts with."""
        table, lane = facts.uses.table, facts.happens.lane[facts.uses.table["op"]].tolist()
        position, writes = facts.happens.ops["position"][table["op"]].tolist(), (table["how"] & WRITE != 0).tolist()
        pairs = [pair for conflict in facts.conflicts.found for pair in conflict.pairs]
        assert all(position[one] < position[two] for one, two in pairs)
        expected = {
            (two, lane[one], writes[one])
            for two in range(len(table))
            for one in np.flatnonzero(table["memory"] == table["memory"][two]).tolist()
            if position[one] < position[two] and (writes[one] or writes[two])
            if not self.before(position[one], position[two])
        }
        assert {(two, lane[one], writes[one]) for one, two in pairs} == expected


@CALM
@given(st.lists(CUDA_STEP, min_size=1, max_size=30))
@pytest.mark.usefixtures("blocks")
def test_streams(schema: str, steps: list[tuple[str, str, int]]) -> None:
    world, model = CudaWorld(schema), Model()
    kernel, memory = world.kernel("_Z4copyPfPKfi", [8, 8, 4]), [world.alloc(64) for _ in range(3)]
    streams = {name: world.create("cuStreamCreate", flags=int(name in "ab")) for name in "abcd"} | {"0": 0}
    events = [world.create("cuEventCreate", flags=2) for _ in range(3)]
    marks: dict[int, int] = {}

    def put(position: int, queue: str, *sources: int) -> int:
        near = queue + (DEFAULT if queue in BLOCKING else BLOCKING if queue == DEFAULT else "")
        return model.add(position, queue, [*model.all(near), *sources])

    for what, name, event in steps:
        if what == "run":
            given = [memory[event], memory[(event + 1) % 3], 8]
            put(world.launch(kernel, given, queue=streams[name]), name)
        elif what == "record":
            marks[event] = put(world.call("cuEventRecord", event=events[event], queue=streams[name]), name)
        elif what == "wait":
            call = world.call("cuStreamWaitEvent", event=events[event], queue=streams[name])
            put(call, name, *([marks[event]] if event in marks else []))
        elif what == "event":
            world.call("cuEventSynchronize", event=events[event])
            model.waited([marks[event]] if event in marks else [])
        elif what == "stream":
            world.call("cuStreamSynchronize", queue=streams[name])
            model.waited(model.all(name + (BLOCKING if name == DEFAULT else "")))
        else:
            world.call("cuCtxSynchronize")
            model.waited(model.all("abcd0"))
    model.check(world)


@CALM
@given(st.lists(OPENCL_STEP, min_size=1, max_size=30))
@pytest.mark.usefixtures("blocks")
def test_queues(schema: str, steps: list[tuple[str, str, list[int]]]) -> None:
    """a and b are in order, x and y are not."""
    world, model = World(schema), Model()
    buffers = [world.buffer(64) for _ in range(3)]
    queues = {n: world.create("clCreateCommandQueue", context=world.context, properties=int(n in "xy")) for n in "abxy"}
    made: list[tuple[int, int]] = []  # (event, node)
    barriers: dict[str, int] = {}
    for what, name, picks in steps:
        chosen = [made[p] for p in picks if p < len(made)]
        listed = {"waits": struct.pack(f"<{len(chosen)}Q", *(e for e, _ in chosen))} if chosen else {}
        sources = [node for _, node in chosen]
        if what == "finish":
            world.call("clFinish", queue=queues[name])
            model.waited(model.all(name))
        elif what == "wait":
            if chosen:
                world.call("clWaitForEvents", num_events=len(chosen), arrays={"events": listed["waits"]})
                model.waited(sources)
        else:
            event = world.handle()
            more: dict[str, Any] = {"buffer": buffers[len(picks)], "size": 64} if what == "run" else {}
            call = {"run": "clEnqueueFillBuffer", "marker": "clEnqueueMarkerWithWaitList"}.get(
                what, "clEnqueueBarrierWithWaitList"
            )
            position = world.call(call, queue=queues[name], event=event, arrays=listed, **more)
            if name in "ab" or (what != "run" and not chosen):
                sources += model.all(name)
            sources += [barriers[name]] if name in barriers else []
            node = model.add(position, name, sources)
            made.append((event, node))
            if what == "barrier":
                barriers[name] = node
    model.check(world)


def test_the_model_itself() -> None:
    model = Model()
    nodes = [model.add(n, "a", model.all("a")) for n in range(3)]
    assert all(one in model.after[two] for one, two in pairwise(nodes))
