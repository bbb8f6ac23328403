"""One queue, two threads; synthetic traces."""

from __future__ import annotations

import pytest
from support.cuda_world import CudaWorld
from support.detecting import Look, Make
from support.synthetic import GLOBAL, Arg
from support.typed import label

from gpudx.model import Finding

SCALE, COPY = "_Z5scalePfi", "_Z4copyPfPKfi"
ID = "queue-driven-by-threads"


@pytest.fixture
def cuda(schema: str) -> CudaWorld:
    return CudaWorld(schema)


def of(found: list[Finding]) -> list[Finding]:
    return [f for f in found if f.id == ID]


def test_two_threads_at_once(cuda: CudaWorld, look: Look) -> None:
    memory, kernel = cuda.alloc(4096), cuda.kernel(SCALE, [8, 4])
    cuda.launch(kernel, [memory, 4], tid=4, begin=100000, ticks=500)
    cuda.call("cuMemsetD8Async", dst=memory, value=0, count=64, queue=cuda.queue, tid=7, begin=100200)
    (one,) = of(look(cuda))
    assert one.severity == "warning" and label(one) == "memory #1"
    assert "Threads 4 and 7 enqueued work on memory #1 to queue #1 at the same time, kernel scale" in one.message


@pytest.mark.parametrize(
    "how", ["turns", "one thread", "only read", "other memory", "other queue", "apart", "not known", "one kernel"]
)
def test_what_leaves_nothing_to_chance_is_silent(cuda: CudaWorld, look: Look, how: str) -> None:
    memory, other, kernel = (
        cuda.alloc(4096),
        cuda.alloc(4096),
        cuda.kernel("untyped" if how == "not known" else COPY, [8, 8, 4]),
    )
    begin, tid = (100600 if how == "turns" else 100200), (4 if how == "one thread" else 7)
    outs = [cuda.alloc(64), cuda.alloc(64)]
    cuda.launch(kernel, [outs[0], memory, 4], tid=4, begin=100000, ticks=500)
    where = {"queue": cuda.create("cuStreamCreate", flags=0, begin=99000) if how == "other queue" else cuda.queue}
    if how in ("only read", "not known"):
        cuda.launch(kernel, [outs[1], memory, 4], tid=tid, begin=begin)
    elif how == "one kernel":
        cuda.launch(kernel, [outs[0], memory, 4], tid=tid, begin=begin)
    elif how == "apart":
        cuda.call("cuMemcpyDtoDAsync_v2", dst=other, src=memory, size=64, tid=7, begin=100600, **where)
        cuda.call("cuMemsetD8Async", dst=memory + 64, value=0, count=64, tid=8, begin=100601, **where)
    else:
        target = other if how == "other memory" else memory
        cuda.call("cuMemsetD8Async", dst=target, value=0, count=64, tid=tid, begin=begin, **where)
    assert not of(look(cuda))


def test_opencl_queues_too(world: Make, look: Look) -> None:
    process = world()
    kernel, buffer = process.kernel("scale", [Arg("float*", "data", GLOBAL)]), process.buffer(4096)
    process.set_arg(kernel, 0, buffer)
    process.launch(kernel, (64,), tid=4, begin=100000, ticks=500)
    where = {"queue": process.queue, "buffer": buffer, "ptr": 0x5000, "size": 64}
    process.call("clEnqueueReadBuffer", blocking=1, tid=7, begin=100200, **where)
    assert len(of(look(process))) == 1
