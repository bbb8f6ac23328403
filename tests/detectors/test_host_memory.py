"""Host memory under copies that the host does not wait for: synthetic traces, and programs on a real OpenCL device."""

from __future__ import annotations

from typing import Any

import pytest
from support.cuda_world import CudaWorld
from support.detecting import Look, Make
from support.opencl import OpenCL
from support.synthetic import World
from support.typed import label

from gpudx.model import Finding

ID = "host-memory-changed-under-copy"
STACK = 0x7FFC00000000
DEEP = STACK + 0x1000  # the stack pointer of a call inside the function that owns LOCAL
LOCAL = STACK + 0x1100
OUTSIDE = STACK + 0x2000


@pytest.fixture
def cuda(schema: str) -> CudaWorld:
    return CudaWorld(schema)


def of(found: list[Finding]) -> list[Finding]:
    return [f for f in found if f.id == ID]


def write(world: World, ptr: int, *, blocking: int = 0, queue: int = 0, **more: Any) -> int:
    buffer = world.buffer(4096)
    where = {"queue": queue or world.queue, "buffer": buffer, "ptr": ptr, "size": 64}
    return world.call("clEnqueueWriteBuffer", blocking=blocking, **where, **more)


def finish(world: World, **more: Any) -> int:
    return world.call("clFinish", queue=world.queue, **more)


# ---- local variables ----


def test_a_local_variable_of_a_function_that_returned(world: Make, look: Look) -> None:
    process = world()
    copy = write(process, LOCAL, stack=DEEP)
    wait = finish(process, stack=OUTSIDE)
    (one,) = of(look(process))
    assert one.severity == "error" and one.causes == (ID,) and "64 bytes of a local variable" in one.message
    assert one.site is not None and one.site.number == copy + 1 and one.others[0].number == wait + 1


@pytest.mark.parametrize(
    ("pointers", "threads"),
    [
        ((DEEP, DEEP), (1, 1)),  # waited for inside of the function
        ((DEEP, OUTSIDE), (1, 2)),  # another thread's stack
        ((LOCAL + 64, OUTSIDE), (1, 1)),  # not on the stack: below it from the start
        ((0, OUTSIDE), (1, 1)),  # an older trace, which has no stack pointers
        ((DEEP, DEEP + (1 << 20)), (1, 1)),  # far away, and no map says that it is the same stack
    ],
)
def test_what_is_not_known_to_be_gone_is_silent(
    world: Make, look: Look, pointers: tuple[int, int], threads: tuple[int, int]
) -> None:
    process = world()
    write(process, LOCAL, stack=pointers[0], tid=threads[0])
    finish(process, stack=pointers[1], tid=threads[1])
    assert not of(look(process))


def test_a_copy_that_was_waited_for_is_silent(world: Make, look: Look) -> None:
    process = world()
    write(process, LOCAL, stack=DEEP)
    finish(process, stack=DEEP)
    finish(process, stack=OUTSIDE)
    write(process, LOCAL, stack=DEEP, blocking=1)
    finish(process, stack=OUTSIDE)
    assert not of(look(process))


def test_launches_do_not_pay_for_it(world: Make) -> None:
    noting = {c.does for c in world().schema.calls if ("stack", "stack") in c.fields}
    assert noting == {"wait", "copy", "map"}


# ---- ordinary memory that another copy works on ----


def test_two_copies_without_order_work_on_the_same_memory(world: Make, look: Look) -> None:
    process = world()
    second = process.create("clCreateCommandQueue", context=process.context, device=process.device)
    write(process, 0x5000)
    buffer = process.buffer(64)
    process.call("clEnqueueReadBuffer", queue=second, buffer=buffer, ptr=0x5020, size=64)
    (one,) = of(look(process))
    assert one.severity == "error" and "nothing orders them" in one.message


@pytest.mark.parametrize("how", ["read both", "apart", "one queue", "waited"])
def test_copies_that_do_not_meet_are_silent(world: Make, look: Look, how: str) -> None:
    process = world()
    second = process.create("clCreateCommandQueue", context=process.context, device=process.device)
    write(process, 0x5000)
    if how == "waited":
        finish(process)
    name = "clEnqueueWriteBuffer" if how == "read both" else "clEnqueueReadBuffer"
    queue = process.queue if how == "one queue" else second
    ptr = 0x5040 if how == "apart" else 0x5000
    process.call(name, queue=queue, buffer=process.buffer(64), ptr=ptr, size=64)
    assert not of(look(process))


def test_rectangles_of_one_array_are_silent(world: Make, look: Look) -> None:
    """They may be different parts of it."""
    process = world()
    second = process.create("clCreateCommandQueue", context=process.context, device=process.device)
    for queue in (process.queue, second):
        process.call("clEnqueueReadBufferRect", queue=queue, buffer=process.buffer(64), ptr=0x5000)
    assert not of(look(process))


# ---- memory that devices reach ----


@pytest.mark.parametrize("waits", [False, True])
def test_pinned_memory_that_is_freed_under_a_copy(cuda: CudaWorld, look: Look, waits: bool) -> None:
    memory = cuda.alloc(4096)
    pinned = cuda.create("cuMemHostAlloc", size=4096)
    cuda.call("cuMemcpyHtoDAsync_v2", dst=memory, src=pinned, size=4096, queue=cuda.queue)
    if waits:
        cuda.sync()
    cuda.call("cuMemFreeHost", mem=pinned)
    found = of(look(cuda))
    assert len(found) == (not waits)
    if found:
        assert found[0].severity == "warning" and "nothing promises that cuMemFreeHost waits" in found[0].message


@pytest.mark.parametrize("how", ["another stream", "at once", "same stream", "apart", "waited"])
def test_pinned_memory_that_is_filled_again_too_early(cuda: CudaWorld, look: Look, how: str) -> None:
    memory, streams = cuda.alloc(8192), [cuda.create("cuStreamCreate", flags=1) for _ in range(2)]
    pinned = cuda.create("cuMemHostAlloc", size=8192)
    cuda.call("cuMemcpyHtoDAsync_v2", dst=memory, src=pinned, size=4096, queue=streams[0])
    if how == "waited":
        cuda.call("cuStreamSynchronize", queue=streams[0])
    target, queue = pinned + (4096 if how == "apart" else 0), streams[how != "same stream"]
    if how == "at once":
        cuda.call("cuMemcpyDtoH_v2", dst=target, src=memory + 4096, size=4096)
    else:
        cuda.call("cuMemcpyDtoHAsync_v2", dst=target, src=memory + 4096, size=4096, queue=queue)
    found = of(look(cuda))
    assert len(found) == (how in ("another stream", "at once"))
    assert all(f.severity == "error" and label(f) == "memory #2" for f in found)


def test_ordinary_memory_is_staged(cuda: CudaWorld, look: Look) -> None:
    memory = cuda.alloc(4096)
    for _ in range(2):
        cuda.call("cuMemcpyHtoDAsync_v2", dst=memory, src=0x5000, size=4096, queue=cuda.queue)
    assert not of(look(cuda))


# ---- a real device ----


def test_right_and_polled_programs_are_silent(opencl: OpenCL) -> None:
    for mode in ("right", "polled"):
        run = opencl.run("host_memory", mode)
        assert run.outcome.kind == "passed" and not run.findings, run.findings


@pytest.mark.parametrize("mode", ["stack", "thread"])
def test_a_program_whose_array_is_gone(opencl: OpenCL, mode: str) -> None:
    run = opencl.run("host_memory", mode)
    one = run.only(ID)
    assert one.severity == "error" and "4,096 bytes of a local variable" in one.message
    assert one.site is not None and one.site.call == "clEnqueueWriteBuffer"
    assert one.evidence[-1].text.startswith("some of these bytes had changed, or were gone")


def test_a_program_whose_copies_meet(opencl: OpenCL) -> None:
    one = opencl.run("host_memory", "rewritten").only(ID)
    assert [one.site.call if one.site else "", one.others[0].call] == ["clEnqueueWriteBuffer", "clEnqueueReadBuffer"]


# ---- a source that is filled again ----


def refilled(process: World, flags: int, changed: bool = True, waits: bool = False) -> None:
    """Two copies from one place, whose content differs at the second; a buffer with these flags was made from it before."""
    process.create("clCreateBuffer", context=process.context, flags=flags, size=4096, host_ptr=0x5000)
    buffer = process.buffer(4096)
    words = {"queue": process.queue, "buffer": buffer, "blocking": 0, "offset": 0, "size": 4096, "ptr": 0x5000}
    process.call("clEnqueueWriteBuffer", **words)
    if waits:
        process.call("clFinish", queue=process.queue)
    process.call("clEnqueueWriteBuffer", **words)
    if changed:
        process.note("note_source_changed", {"address": 0x5000, "size": 4096, "flags": 0})


USE_HOST_PTR, COPY_HOST_PTR = 8, 32


def test_a_staging_buffer_that_is_filled_too_early_is_named_as_such(world: Make, look: Look) -> None:
    """A buffer that was once initialised from this memory has its own copy: that says nothing about who writes the memory now."""
    process = world()
    refilled(process, COPY_HOST_PTR)
    (one,) = [one for one in look(process, "exit", exit_code=1) if one.id == ID]
    assert "which copies from it too, began, and nothing had waited" in one.message
    assert any("are passed the same host pointer" in fact.text for fact in one.evidence)


@pytest.mark.parametrize(
    ("flags", "changed", "waits"), [(USE_HOST_PTR, True, False), (COPY_HOST_PTR, False, False), (COPY_HOST_PTR, True, True)]
)
def test_sources_that_are_sent_twice_are_silent(world: Make, look: Look, flags: int, changed: bool, waits: bool) -> None:
    """Memory behind a buffer may be written by kernels; the same content sent twice, or after a wait, is what many programs do."""
    process = world()
    refilled(process, flags, changed, waits)
    assert not [one for one in look(process, "exit", exit_code=1) if one.id == ID]
