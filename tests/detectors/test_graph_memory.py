"""Memory that graphs allocate is not judged by the frees that are seen: each launch of the graph allocates it again."""

from __future__ import annotations

import pytest
from support.cuda_world import CudaWorld
from support.detecting import Look

SCALE = "_Z5scalePfi"
WHERE = 0x7E5000000000


@pytest.fixture
def cuda(schema: str) -> CudaWorld:
    return CudaWorld(schema)


def captured_allocation(cuda: CudaWorld) -> int:
    """cudaMallocAsync while the stream is captured; the graph that comes of it."""
    cuda.call("cuStreamBeginCapture_v2", queue=cuda.queue, mode=0)
    at = cuda.call("cuMemAllocAsync", result=WHERE, size=4096, queue=cuda.queue)
    cuda._calls[at].flags = cuda.schema.flags["captured"]
    cuda.call("cuStreamEndCapture", queue=cuda.queue, result=0x88000)
    return cuda.graph(cuda.kernel(SCALE, [8, 4]), [WHERE, 4])


def node_allocation(cuda: CudaWorld) -> int:
    """cudaGraphAddMemAllocNode."""
    graph = cuda.graph(cuda.kernel(SCALE, [8, 4]), [WHERE, 4])
    cuda.note("note_graph_memory", {"graph_exec": graph, "node": 0x99000, "address": WHERE, "size": 4096})
    return graph


@pytest.mark.parametrize("make", [captured_allocation, node_allocation])
@pytest.mark.parametrize("free", ["cuMemFree_v2", "cuMemFreeAsync"])
def test_freed_outside_the_graph_and_allocated_again_by_its_next_launch(cuda: CudaWorld, look: Look, make: object, free: str) -> None:
    """As NVIDIA's sample graphMemoryNodes does; "use-of-released-object, confirmed" was wrong."""
    graph = make(cuda)  # type: ignore[operator]
    kernel = cuda.kernel(SCALE, [8, 4])
    for _ in range(3):
        cuda.call("cuGraphLaunch", graph_exec=graph, queue=cuda.queue)
        cuda.launch(kernel, [WHERE, 4])  # used outside of the graph, too
        cuda.sync()
        cuda.call(free, mem=WHERE, **({"queue": cuda.queue} if free.endswith("Async") else {}))
    cuda.call("cuMemAllocAsync", result=WHERE, size=8192, queue=cuda.queue)  # the address belongs to somebody else
    cuda.launch(kernel, [WHERE, 4])
    cuda.sync()
    cuda.call("cuMemFreeAsync", mem=WHERE, queue=cuda.queue)
    assert not [f for f in look(cuda) if f.severity != "info"]


def test_memory_that_nobody_saw_being_made(cuda: CudaWorld, look: Look) -> None:
    """Another library allocates; the program frees what it was given, twice at the same address."""
    cuda.call("cuMemFree_v2", mem=WHERE)
    cuda.call("cuMemFree_v2", mem=WHERE)
    assert not look(cuda)


def test_a_double_free_that_was_refused_is_still_found(cuda: CudaWorld, look: Look) -> None:
    memory = cuda.alloc(4096)
    cuda.free(memory)
    cuda.call("cuMemFree_v2", mem=memory, status=1)
    assert [f.id for f in look(cuda) if f.severity == "error"] == ["use-of-released-object"]


def test_ordinary_memory_used_after_its_free_is_still_found(cuda: CudaWorld, look: Look) -> None:
    captured_allocation(cuda)
    memory, kernel = cuda.alloc(4096), cuda.kernel(SCALE, [8, 4])
    cuda.free(memory)
    cuda.launch(kernel, [memory, 4])
    assert [f.id for f in look(cuda)] == ["use-after-free"]
