"""Happens-before against a plain model: every edge drawn one by one, and their transitive closure. Programs are random."""

from __future__ import annotations

import struct
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.cuda_world import CudaWorld
from support.synthetic import World

from gpudx.facts import derive

CALM = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
BLOCKING, DEFAULT = "cd", "0"
STREAM, EVENT = st.sampled_from("abcd0"), st.integers(0, 2)
CUDA_STEP = st.one_of(
    st.tuples(st.just("run"), STREAM, st.just(0)),
    st.tuples(st.just("run"), STREAM, st.just(0)),
    st.tuples(st.just("record"), STREAM, EVENT),
    st.tuples(st.just("wait"), STREAM, EVENT),
    st.tuples(st.sampled_from(["stream", "event", "context"]), STREAM, EVENT),
)
OPENCL_STEP = st.tuples(
    st.sampled_from(["run", "run", "run", "marker", "barrier", "finish", "wait"]),
    st.sampled_from("abxy"),
    st.lists(st.integers(0, 40), max_size=2),
)


class Model:
    """A graph of operations and waits of the host. Every operation comes after the waits of the host before it."""

    def __init__(self) -> None:
        self.after: list[set[int]] = []  # per node, all that is complete before it
        self.ops: dict[int, int] = {}  # position -> node
        self.queues: dict[str, list[int]] = {}
        self.host: set[int] = set()

    def add(self, position: int, queue: str, sources: list[int]) -> int:
        known = set(self.host)
        for source in sources:
            known |= self.after[source] | {source}
        self.after.append(known)
        node = len(self.after) - 1
        self.ops[position] = node
        self.queues.setdefault(queue, []).append(node)
        return node

    def waited(self, sources: list[int]) -> None:
        for source in sources:
            self.host |= self.after[source] | {source}

    def all(self, queues: str) -> list[int]:
        return [node for queue in queues for node in self.queues.get(queue, [])]

    def check(self, world: World) -> None:
        with TemporaryDirectory() as folder:
            happens = derive(world.write(Path(folder) / "1-0.gdx")).happens
            positions = sorted(self.ops)
            rows = happens.op_at(np.array(positions, np.int64))
            first, second = (g.reshape(-1) for g in np.meshgrid(np.arange(len(rows)), np.arange(len(rows))))
            found = happens.ordered(rows[first], rows[second]).tolist()
        expected = [
            self.ops[positions[a]] in self.after[self.ops[positions[b]]] for a, b in zip(first, second, strict=True)
        ]
        assert found == expected


@CALM
@given(st.lists(CUDA_STEP, min_size=1, max_size=30))
def test_streams(schema: str, steps: list[tuple[str, str, int]]) -> None:
    world, model = CudaWorld(schema), Model()
    kernel, memory = world.kernel("_Z5scalePfi", [8, 4]), world.alloc(64)
    streams = {name: world.create("cuStreamCreate", flags=int(name in "ab")) for name in "abcd"} | {"0": 0}
    events = [world.create("cuEventCreate", flags=2) for _ in range(3)]
    marks: dict[int, int] = {}

    def put(position: int, queue: str, *sources: int) -> int:
        near = queue + (DEFAULT if queue in BLOCKING else BLOCKING if queue == DEFAULT else "")
        return model.add(position, queue, [*model.all(near), *sources])

    for what, name, event in steps:
        if what == "run":
            put(world.launch(kernel, [memory, 8], queue=streams[name]), name)
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
def test_queues(schema: str, steps: list[tuple[str, str, list[int]]]) -> None:
    """a and b are in order, x and y are not."""
    world, model = World(schema), Model()
    buffer = world.buffer(64)
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
            more: dict[str, Any] = {"buffer": buffer, "size": 64} if what == "run" else {}
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
