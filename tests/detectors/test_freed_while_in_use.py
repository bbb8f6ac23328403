"""Memory that is freed under work that uses it; synthetic traces."""

from __future__ import annotations

import pytest
from support.cuda_world import CudaWorld
from support.detecting import Look, Make
from support.synthetic import GLOBAL, Arg
from support.typed import label

from gpudx.model import Finding

SCALE = "_Z5scalePfi"
ID = "freed-while-in-use"


@pytest.fixture
def cuda(schema: str) -> CudaWorld:
    return CudaWorld(schema)


def of(found: list[Finding]) -> list[Finding]:
    return [f for f in found if f.id == ID]


def stream(cuda: CudaWorld) -> int:
    return cuda.create("cuStreamCreate", flags=1)


def pooled(cuda: CudaWorld, queue: int) -> int:
    return cuda.create("cuMemAllocAsync", result=0x7E0000000000, size=512, queue=queue)


def hand_over(cuda: CudaWorld, first: int, second: int) -> None:
    event = cuda.create("cuEventCreate", flags=2)
    cuda.call("cuEventRecord", event=event, queue=first)
    cuda.call("cuStreamWaitEvent", event=event, queue=second)


def test_a_free_in_a_stream_that_does_not_know_of_the_use(cuda: CudaWorld, look: Look) -> None:
    first, second, kernel = stream(cuda), stream(cuda), cuda.kernel(SCALE, [8, 4])
    memory = pooled(cuda, first)
    hand_over(cuda, first, second)
    use = cuda.launch(kernel, [memory, 128], queue=second)
    free = cuda.call("cuMemFreeAsync", mem=memory, queue=first)
    (one,) = of(look(cuda))
    assert one.severity == "error" and one.site is not None and one.site.number == free + 1
    assert one.others[0].number == use + 1 and "kernel scale" in one.message and "record an event in" in one.message
    assert label(one) == "memory #1"


def test_a_free_behind_an_event_is_silent(cuda: CudaWorld, look: Look) -> None:
    first, second, kernel = stream(cuda), stream(cuda), cuda.kernel(SCALE, [8, 4])
    memory = pooled(cuda, first)
    hand_over(cuda, first, second)
    cuda.launch(kernel, [memory, 128], queue=second)
    hand_over(cuda, second, first)
    cuda.call("cuMemFreeAsync", mem=memory, queue=first)
    assert not look(cuda)


@pytest.mark.parametrize("ordered", [False, True])
def test_a_pointer_far_inside_a_structure(cuda: CudaWorld, look: Look, ordered: bool) -> None:
    """As a framework's reduction has it."""
    first, second, kernel = stream(cuda), stream(cuda), cuda.kernel("reduce", [1200])
    memory = pooled(cuda, first)
    hand_over(cuda, first, second)
    cuda.launch(kernel, [bytes(984) + memory.to_bytes(8, "little") + bytes(208)], queue=second)
    if ordered:
        hand_over(cuda, second, first)
    cuda.call("cuMemFreeAsync", mem=memory, queue=first)
    assert [one.severity for one in of(look(cuda))] == ([] if ordered else ["warning"])


def test_a_free_in_the_stream_of_the_use_is_silent(cuda: CudaWorld, look: Look) -> None:
    first, second, kernel = stream(cuda), stream(cuda), cuda.kernel(SCALE, [8, 4])
    memory = pooled(cuda, first)
    cuda.launch(kernel, [memory, 128], queue=first)
    hand_over(cuda, first, second)
    cuda.call("cuMemcpyDtoHAsync_v2", dst=0x5000, src=memory, size=64, queue=second)
    cuda.call("cuMemFreeAsync", mem=memory, queue=second)
    assert not of(look(cuda))


@pytest.mark.parametrize("waits", [False, True])
def test_pool_memory_that_is_freed_at_once(cuda: CudaWorld, look: Look, waits: bool) -> None:
    kernel = cuda.kernel(SCALE, [8, 4])
    memory = pooled(cuda, cuda.queue)
    cuda.launch(kernel, [memory, 128])
    if waits:
        cuda.sync()
    cuda.call("cuMemFree_v2", mem=memory)
    found = of(look(cuda))
    assert len(found) == (not waits)
    assert all(f.severity == "error" and "wait for the work first" in f.message for f in found)


def test_a_plain_free_may_wait_and_is_silent(cuda: CudaWorld, look: Look) -> None:
    memory, kernel = cuda.alloc(4096), cuda.kernel(SCALE, [8, 4])
    cuda.launch(kernel, [memory, 4])
    cuda.free(memory)
    assert not look(cuda)


def test_an_address_inside_a_structure_is_a_warning(cuda: CudaWorld, look: Look) -> None:
    first, second, kernel = stream(cuda), stream(cuda), cuda.kernel("with_structure", [16])
    memory = pooled(cuda, first)
    hand_over(cuda, first, second)
    cuda.launch(kernel, [memory.to_bytes(8, "little") + bytes(8)], queue=second)
    cuda.call("cuMemFreeAsync", mem=memory, queue=first)
    (one,) = of(look(cuda))
    assert one.severity == "warning" and "inside argument 0" in one.evidence[0].text


def test_host_memory_under_a_kernel_is_a_warning(cuda: CudaWorld, look: Look) -> None:
    kernel = cuda.kernel(SCALE, [8, 4])
    pinned = cuda.create("cuMemHostAlloc", size=4096)
    cuda.launch(kernel, [pinned, 128])
    cuda.call("cuMemFreeHost", mem=pinned)
    (one,) = of(look(cuda))
    assert one.severity == "warning"


@pytest.mark.parametrize("waits", [False, True])
def test_shared_virtual_memory(world: Make, look: Look, waits: bool) -> None:
    process = world()
    kernel = process.kernel("scale", [Arg("float*", "data", GLOBAL)])
    memory = process.create("clSVMAlloc", context=process.context, size=4096)
    process.set_arg(kernel, 0, memory)
    process.launch(kernel, (64,))
    if waits:
        process.call("clFinish", queue=process.queue)
    process.call("clSVMFree", context=process.context, svm=memory)
    assert len(of(look(process))) == (not waits)


def test_a_released_buffer_lives_until_its_commands_are_done(world: Make, look: Look) -> None:
    process = world()
    kernel, buffer = process.kernel("scale", [Arg("float*", "data", GLOBAL)]), process.buffer(4096)
    process.call("clEnqueueFillBuffer", queue=process.queue, buffer=buffer, size=4096)
    process.set_arg(kernel, 0, buffer)
    process.launch(kernel, (64,))
    process.release(buffer)
    assert not of(look(process))


# ---- before the allocation ----


def early(found: list[Finding]) -> list[Finding]:
    return [f for f in found if f.id == "use-before-allocation"]


def test_a_use_in_a_stream_that_does_not_know_of_the_allocation(cuda: CudaWorld, look: Look) -> None:
    first, second, kernel = stream(cuda), stream(cuda), cuda.kernel(SCALE, [8, 4])
    memory = pooled(cuda, first)
    use = cuda.launch(kernel, [memory, 128], queue=second)
    (one,) = early(look(cuda))
    assert one.severity == "error" and one.site is not None and one.site.number == use + 1
    assert "Kernel scale" in one.message and "record an event in queue #2" in one.message


@pytest.mark.parametrize("how", ["same stream", "event", "waited"])
def test_a_use_after_the_allocation_is_silent(cuda: CudaWorld, look: Look, how: str) -> None:
    first, second, kernel = stream(cuda), stream(cuda), cuda.kernel(SCALE, [8, 4])
    memory = pooled(cuda, first)
    if how == "event":
        hand_over(cuda, first, second)
    if how == "waited":
        cuda.call("cuStreamSynchronize", queue=first)
    cuda.launch(kernel, [memory, 128], queue=first if how == "same stream" else second)
    assert not early(look(cuda))
