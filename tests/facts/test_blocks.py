"""Clocks in blocks: the same answers, however short the blocks are, in whatever order they are asked for; and what is kept
of blocks that not checked at is the state of the walk, not their clocks. Processes are written by hand."""

from __future__ import annotations

import random
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.cuda_world import CudaWorld
from support.simulated import times
from support.synthetic import World

from gpudx.facts import Facts, derive
from gpudx.facts.order.clocks import Clocks
from gpudx.trace import open_trace

STEPS = 80
Answers = dict[str, Any]


def streams(schema: str, rng: random.Random) -> World:
    """Streams, one of them the default one, with events, waits of the host, and waits for something unknown."""
    world = CudaWorld(schema)
    kernel, memory = world.kernel("_Z4copyPfPKfi", [8, 8, 4]), [world.alloc(4096) for _ in range(3)]
    queues = [0, *(world.create("cuStreamCreate", flags=int(flag)) for flag in (0, 1, 1, 1))]
    events = [world.create("cuEventCreate", flags=2) for _ in range(4)]
    for _ in range(STEPS):
        queue, event, what = rng.choice(queues), rng.choice(events), rng.random()
        if what < 0.4:
            world.launch(kernel, [rng.choice(memory), rng.choice(memory) + rng.choice((0, 512)), 8], queue=queue)
        elif what < 0.6:
            world.call("cuEventRecord", event=event, queue=queue)
        elif what < 0.85:
            world.call("cuStreamWaitEvent", event=event, queue=queue)
        elif what < 0.9:
            world.call("cuWaitExternalSemaphoresAsync", queue=queue, count=1)
        else:
            world.call("cuEventSynchronize", event=event) if what < 0.97 else world.call("cuCtxSynchronize")
    return world


def queues(schema: str, rng: random.Random) -> World:
    """Queues, half of them out of order, with lists of events, and signals of the host, some of which never come."""
    world = World(schema)
    buffers = [world.buffer(4096) for _ in range(3)]
    made = [world.create("clCreateUserEvent", context=world.context) for _ in range(3)]
    users = list(made)
    four = [world.create("clCreateCommandQueue", context=world.context, properties=n % 2) for n in range(4)]
    for _ in range(STEPS):
        queue, what, event = rng.choice(four), rng.random(), world.handle()
        chosen = rng.sample(made, rng.choice((0, 0, 0, 1, 2)))
        listed: dict[str, Any] = {"waits": struct.pack(f"<{len(chosen)}Q", *chosen)} if chosen else {}
        if what < 0.06:
            world.call("clFinish", queue=queue)
        elif what < 0.1:
            world.call("clSetUserEventStatus", event=rng.choice(users[1:]))
        elif what < 0.15:
            world.call("clEnqueueBarrierWithWaitList", queue=queue, event=event, arrays=listed)
        else:
            given = {"buffer": rng.choice(buffers), "offset": rng.choice((0, 64)), "size": rng.choice((64, 4096))}
            call = rng.choice(("clEnqueueFillBuffer", "clEnqueueReadBuffer"))
            world.call(call, queue=queue, event=event, arrays=listed, **given)
            made.append(event)
    return world


def answers(facts: Facts, rng: random.Random) -> Answers:
    """To all questions at once, in a random order."""
    happens = facts.happens
    rows, positions = np.arange(len(happens.ops)), np.arange(0, len(facts.trace), 2)
    first, second = (g.reshape(-1) for g in np.meshgrid(rows, rows))
    order = np.array(rng.sample(range(len(first)), len(first)))
    found, host = np.zeros(len(first), bool), np.meshgrid(rows, positions)
    found[order] = happens.ordered(first[order], second[order])
    return {
        "ordered": found.tolist(),
        "known": happens.done_before_host(host[0].reshape(-1), host[1].reshape(-1)).tolist(),
        "lane": happens.lane.tolist(),
        "rank": happens.rank.tolist(),
        "why": [happens.why(*rng.choices(range(len(rows)), k=2)) for _ in range(20)],
        "conflicts": [(c.memory, c.pairs, c.count) for c in facts.conflicts.found],
    }


def shorten(monkeypatch: pytest.MonkeyPatch, moments: int) -> None:
    for name, value in (("cuts.MOMENTS", moments), ("blocks.MOST_RECENT", 1), ("blocks.MOST_STATES", 3)):
        monkeypatch.setattr(f"gpudx.facts.order.{name}", value)


@pytest.mark.parametrize("program", [streams, queues], ids=["streams", "queues"])
@pytest.mark.parametrize("seed", range(times(30)))
def test_short_blocks_say_the_same(
    program: Any, seed: int, schema: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(schema, random.Random(seed)).write(tmp_path / "1-0.gdx")
    whole = answers(derive(open_trace(tmp_path / "1-0.gdx")), random.Random(seed))
    for moments in (1, 7):
        shorten(monkeypatch, moments)
        parts = answers(derive(open_trace(tmp_path / "1-0.gdx")), random.Random(seed))
        assert {name for name in whole if parts[name] != whole[name]} == set()


def clocks(schema: str, folder: Path) -> Clocks:
    facts = derive(streams(schema, random.Random(1)).write(folder / "1-0.gdx"))
    assert len(facts.happens.lane)
    return facts.happens._clocks


def test_a_walk_in_order_goes_through_each_block_once(
    schema: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shorten(monkeypatch, 7)
    found = clocks(schema, tmp_path)
    walk, walked = found._walk, list[int]()
    block = walk.block
    monkeypatch.setattr(walk, "block", lambda number, state: (walked.append(number), block(number, state))[1])
    for begin, end in found.stretches:
        later = np.repeat(np.arange(begin, end), 2)
        found.ordered(np.zeros(len(later), np.int64), later)
        found.ordered(later, np.zeros(len(later), np.int64))
    assert walked == list(range(len(found.stretches)))


def test_only_states_are_kept_and_only_some(schema: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shorten(monkeypatch, 3)
    found = clocks(schema, tmp_path)
    found._blocks.at(len(found.stretches) - 1)
    states = found._blocks._states
    assert len(found._blocks._recent) == 1 and 1 < len(states) <= 3 < len(found.stretches)
    kept = [row for state in states.values() for row in (*state.latest, *state.awaited.values())]
    assert all(row.base is None for row in kept), "a state must not hold on to a block's clocks"


def test_what_is_no_longer_waited_for_is_forgotten(
    schema: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two streams hand over to each other many times: the clocks that are kept do not grow with that."""
    shorten(monkeypatch, 3)
    world = CudaWorld(schema)
    kernel, memory, event = world.kernel("_Z5scalePfi", [8, 4]), world.alloc(64), world.create("cuEventCreate", flags=2)
    pair = [world.create("cuStreamCreate", flags=1) for _ in range(2)]
    for step in range(40):
        world.launch(kernel, [memory, 8], queue=pair[step % 2])
        world.call("cuEventRecord", event=event, queue=pair[step % 2])
        world.call("cuStreamWaitEvent", event=event, queue=pair[1 - step % 2])
    facts = derive(world.write(tmp_path / "1-0.gdx"))
    assert facts.conflicts.found == []
    assert all(len(state.awaited) <= 2 for state in facts.happens._clocks._blocks._states.values())
