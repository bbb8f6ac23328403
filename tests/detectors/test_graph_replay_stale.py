"""Graphs that outlive their memory, and captures that were broken; synthetic traces."""

from __future__ import annotations

import pytest
from support.cuda_world import CudaWorld
from support.detecting import Look
from support.typed import label

from gpudx.model import Finding

SCALE = "_Z5scalePfi"


@pytest.fixture
def cuda(schema: str) -> CudaWorld:
    return CudaWorld(schema)


def of(found: list[Finding], name: str) -> list[Finding]:
    return [f for f in found if f.id == name]


def launched(cuda: CudaWorld, graph: int) -> int:
    return cuda.call("cuGraphLaunch", graph_exec=graph, queue=cuda.queue)


def test_a_node_whose_address_another_allocation_has(cuda: CudaWorld, look: Look) -> None:
    memory, kernel = cuda.alloc(4096), cuda.kernel(SCALE, [8, 4])
    graph = cuda.graph(kernel, [memory + 64, 4])
    launched(cuda, graph)
    cuda.sync()
    cuda.free(memory)
    cuda.alloc(8192, at=memory)
    at = launched(cuda, graph)
    launched(cuda, graph)
    (one,) = look(cuda)
    assert one.id == "graph-replay-stale" and one.severity == "error" and one.count == 2
    assert one.site is not None and one.site.number == at + 1 and label(one) == "memory #1"
    assert "so the node now works on memory #2" in one.message and "argument 0" in one.message


def test_a_node_that_was_updated_is_silent(cuda: CudaWorld, look: Look) -> None:
    memory, kernel = cuda.alloc(4096), cuda.kernel(SCALE, [8, 4])
    cuda.graph(kernel, [memory, 4])
    cuda.free(memory)
    cuda.alloc(4096, at=memory)
    launched(cuda, cuda.graph(kernel, [memory, 4]))
    assert not look(cuda)


def test_host_memory_that_was_registered_again_is_silent(cuda: CudaWorld, look: Look) -> None:
    kernel, where = cuda.kernel(SCALE, [8, 4]), 0x7E0000000000
    cuda.create("cuMemHostRegister_v2", result=where, size=4096)
    graph = cuda.graph(kernel, [where, 4])
    launched(cuda, graph)
    cuda.sync()
    cuda.call("cuMemHostUnregister", mem=where)
    cuda.create("cuMemHostRegister_v2", result=where, size=4096)
    launched(cuda, graph)
    assert not look(cuda)


def begin(cuda: CudaWorld, **more: int) -> int:
    return cuda.call("cuStreamBeginCapture_v2", queue=cuda.queue, mode=0, **more)


def end(cuda: CudaWorld, **more: int) -> int:
    return cuda.call("cuStreamEndCapture", queue=cuda.queue, **more)


def test_a_wait_during_a_capture(cuda: CudaWorld, look: Look) -> None:
    begin(cuda)
    at = cuda.sync(status=900)
    end(cuda, status=901)
    (one,) = of(look(cuda), "capture-broken")
    assert one.severity == "error" and one.count == 2 and one.site is not None and one.site.number == at + 1
    assert "the call is not allowed during a capture; the capture was lost" in one.message


def test_another_thread_breaks_a_capture(cuda: CudaWorld, look: Look) -> None:
    begin(cuda, tid=4)
    cuda.call("cuMemAlloc_v2", size=64, tid=7, status=900)
    end(cuda, tid=4, status=901)
    (one,) = of(look(cuda), "capture-broken")
    assert "in thread 7, which did not begin it" in one.message


def test_the_wrong_thread_ends_a_capture(cuda: CudaWorld, look: Look) -> None:
    begin(cuda, tid=4)
    end(cuda, tid=5, status=908)
    (one,) = of(look(cuda), "capture-broken")
    assert one.severity == "error" and "another thread had begun the capture" in one.message


def test_a_refused_call_that_lost_nothing_is_a_warning(cuda: CudaWorld, look: Look) -> None:
    begin(cuda)
    cuda.call("cuEventQuery", event=0x77000, status=907)
    end(cuda, result=0x88000)
    (one,) = of(look(cuda), "capture-broken")
    assert one.severity == "warning" and not one.causes


def test_a_capture_that_went_well_is_silent(cuda: CudaWorld, look: Look) -> None:
    begin(cuda)
    end(cuda, result=0x88000)
    cuda.sync()
    cuda.sync(status=900)  # of no capture that was recorded
    assert not of(look(cuda), "capture-broken")
