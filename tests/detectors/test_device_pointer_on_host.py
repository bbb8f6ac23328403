"""Host code that dereferences device memory, or a pointer that was unmapped; synthetic traces with the crash put in."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from support.cuda_world import CudaWorld
from support.detecting import Make
from support.synthetic import World

from gpudx.detectors import Run, detect_all
from gpudx.diagnose import diagnose
from gpudx.facts import derive
from gpudx.model import Finding, Outcome
from gpudx.trace.last_words import LastWords

ID = "device-pointer-on-host"
DIED = Outcome("signal", "The program died.", signal="SIGSEGV")


@pytest.fixture
def cuda(schema: str) -> CudaWorld:
    return CudaWorld(schema)


def crashed(world: World, folder: Path, address: int, tid: int = 1, number: int = signal.SIGSEGV) -> list[Finding]:
    trace = world.write(folder / "1-0.gdx")
    trace.__dict__["last_words"] = LastWords(number, 1, tid, address, 0x400000, 0, (), b"", 0.0)
    return list(detect_all(derive(trace), Run(DIED)))


def of(found: list[Finding]) -> list[Finding]:
    return [one for one in found if one.id == ID]


def test_an_access_to_device_memory_is_the_cause(cuda: CudaWorld, tmp_path: Path) -> None:
    cuda.alloc(4096)
    memory = cuda.alloc(256)
    found = crashed(cuda, tmp_path, memory + 224)
    (one,) = of(found)
    assert "memory #2 (256 bytes)" in one.message and one.access and (one.access.by, one.access.offset) == ("host", 224)
    best = diagnose(found, DIED)[0]
    assert (best.cause, best.status) == (ID, "confirmed") and "not shown" not in best.reason


def test_memory_that_was_freed_before_is_likely(cuda: CudaWorld, tmp_path: Path) -> None:
    memory = cuda.alloc(256)
    cuda.free(memory)
    best = diagnose(crashed(cuda, tmp_path, memory), DIED)[0]
    assert (best.cause, best.status) == (ID, "likely")


def test_other_crashes_are_silent(cuda: CudaWorld, tmp_path: Path) -> None:
    memory = cuda.alloc(256)
    assert not of(crashed(cuda, tmp_path, memory + 256))  # past its end: nobody knows what it was meant for
    assert not of(crashed(cuda, tmp_path, 8))
    assert not of(crashed(cuda, tmp_path, memory, number=signal.SIGABRT))
    managed = cuda.create("cuMemAllocManaged", result=0x7D0000000000, size=256)
    assert not of(crashed(cuda, tmp_path, managed))


def test_a_crash_inside_a_call_is_about_the_call(cuda: CudaWorld, tmp_path: Path) -> None:
    memory = cuda.alloc(256)
    cuda.call("cuMemcpyHtoD_v2", dst=memory, src=memory, size=64, open_=True)
    assert not of(crashed(cuda, tmp_path, memory))


@pytest.mark.parametrize("unmaps", [False, True])
def test_a_mapped_pointer_after_its_unmap(world: Make, tmp_path: Path, unmaps: bool) -> None:
    process = world()
    buffer = process.buffer(4096)
    pointer = 0x7C0000000000
    process.call("clEnqueueMapBuffer", queue=process.queue, buffer=buffer, flags=1, size=4096, result=pointer)
    if unmaps:
        process.call("clEnqueueUnmapMemObject", queue=process.queue, mem=buffer, mapped=pointer)
    found = of(crashed(process, tmp_path, pointer + 16))
    assert bool(found) == unmaps and (not found or "clEnqueueUnmapMemObject (call" in found[0].message)
    assert not of(crashed(process, tmp_path, pointer + 16, tid=99))  # a thread of the driver
