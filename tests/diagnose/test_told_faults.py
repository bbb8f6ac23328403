"""A fault address that was printed, joined to a record: both are written by hand. The record is of another vendor's API than the
text, which is the point: the join knows neither."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.cuda_world import CudaWorld

from gpudx.diagnose import diagnose
from gpudx.diagnose.told_faults import ID, join
from gpudx.evidence.logs._faults import faults_in
from gpudx.facts import derive
from gpudx.model import DeviceFault, Finding, Outcome

SCALE, GEMM = "_Z5scalePfi", "_Z4gemmPfPKfi"
ABORTED = Outcome("signal", "The program was ended by SIGABRT.", None, "SIGABRT")
BASE = 0x7F00_4000_0000


@pytest.fixture
def world(schema: str) -> CudaWorld:
    return CudaWorld(schema)


def line(address: int, reason: str = "Page not present or supervisor privilege.") -> str:
    return f"step 9\nMemory access fault by GPU node-1 (Agent handle: 0x55d0) on address {address:#x}. Reason: {reason}\nAborted\n"


def joined(world: CudaWorld, folder: Path, text: str) -> Finding:
    (found,) = join(faults_in(text), derive(world.write(folder / "1-0.gdx")))
    assert found.id == ID
    return found


def test_past_the_end_of_the_only_launchs_memory(world: CudaWorld, tmp_path: Path) -> None:
    memory, scale = world.alloc(1000, at=BASE), world.kernel(SCALE, [8, 4])
    world.launch(scale, [memory, 250])
    world.sync()
    launched = world.launch(scale, [memory, 99999])
    found = joined(world, tmp_path, line(BASE + 0x2000))
    assert found.message == (
        f"The device faulted at {BASE + 0x2000:#x}, 7,192 bytes past the end of memory #1 (argument 0) (1,000 bytes): kernel "
        f"scale (launch 2, call {launched + 1}) touched memory that is not there."
    )
    assert found.causes == ("out-of-bounds-access",) and found.details["distance"] == 7192
    assert "the distance may be up to 4,095 bytes more" in found.evidence[1].text
    assert found.evidence[2].text == "it is the only launch that may have been running"
    (told,) = diagnose([found], ABORTED)
    assert told.status == "confirmed" and told.guilty is not None and told.guilty.launch == 2


def test_inside_memory_that_was_freed_before_the_launch(world: CudaWorld, tmp_path: Path) -> None:
    stale, other = world.alloc(8192, at=BASE), world.alloc(8192, at=BASE + 0x100000)
    scale, gemm = world.kernel(SCALE, [8, 4]), world.kernel(GEMM, [8, 8, 4])
    world.free(stale)
    world.launch(scale, [other, 4])
    world.launch(gemm, [other, stale, 4])
    found = joined(world, tmp_path, line(BASE + 0x1000))
    assert "inside freed memory #1 (argument 1) (8,192 bytes): kernel gemm (launch 2," in found.message
    assert found.causes == ("use-after-free",) and found.details["state"] == "freed"
    (told,) = diagnose([found], ABORTED)
    assert told.status == "likely"  # the other launch was running too


def test_inside_memory_that_was_freed_while_the_launch_was_running(world: CudaWorld, tmp_path: Path) -> None:
    memory, scale = world.alloc(8192, at=BASE), world.kernel(SCALE, [8, 4])
    world.launch(scale, [memory, 4])
    world.call("cuMemFreeAsync", mem=memory, queue=world.create("cuStreamCreate", flags=1))  # a plain free would wait
    found = joined(world, tmp_path, line(BASE))
    assert "which was freed after the launch" in found.message and found.causes == ("use-after-free",)


def test_null(world: CudaWorld, tmp_path: Path) -> None:
    scale = world.kernel(SCALE, [8, 4])
    world.launch(scale, [0, 4])
    found = joined(world, tmp_path, line(0).replace("0x0.", "(nil)."))
    assert found.causes == ("null-pointer",) and "null + 0x0 (argument 0): kernel scale" in found.message


def test_of_several_launches_with_the_same_memory_none_is_blamed(world: CudaWorld, tmp_path: Path) -> None:
    memory, scale, gemm = world.alloc(4096, at=BASE), world.kernel(SCALE, [8, 4]), world.kernel(GEMM, [8, 8, 4])
    world.launch(scale, [memory, 4])
    world.launch(gemm, [memory, memory, 4])
    found = joined(world, tmp_path, line(BASE + 0x1000))
    assert found.site is None and len(found.others) == 2
    assert "right at the end of memory #1" in found.message
    assert "one of 2 launches that were given it, the first of kernel scale, touched memory" in found.message
    (told,) = diagnose([found], ABORTED)
    assert told.status == "likely" and told.guilty is None


def test_the_nearest_memory_decides(world: CudaWorld, tmp_path: Path) -> None:
    low, high, scale = world.alloc(4096, at=BASE), world.alloc(4096, at=BASE + 0x800000), world.kernel(SCALE, [8, 4])
    world.launch(scale, [low, 4])
    world.launch(scale, [high, 4])
    assert joined(world, tmp_path, line(BASE + 0x802000)).details["single"] is True
    found = joined(world, tmp_path, line(BASE + 0x7FF000))
    assert "4,096 bytes before the start of memory #2" in found.message and found.site is not None
    assert found.site.launch == 2 and "up to 4,095 bytes less" in found.evidence[1].text


def test_a_kernel_that_is_named_narrows_it(world: CudaWorld, tmp_path: Path) -> None:
    memory, scale, gemm = world.alloc(4096, at=BASE), world.kernel(SCALE, [8, 4]), world.kernel(GEMM, [8, 8, 4])
    world.launch(scale, [memory, 4])
    world.launch(gemm, [memory, memory, 4])
    text = f":0:rocdevice.cpp:3675: Memory Fault Error [GPU index: 0, faulting addr: {BASE + 0x1000:#x},\n  kernel: {GEMM}]\n"
    found = joined(world, tmp_path, text + line(BASE + 0x1000))
    assert found.site is not None and found.site.kernel == "gemm"


def test_work_that_a_wait_covers_is_not_accused(world: CudaWorld, tmp_path: Path) -> None:
    memory, scale = world.alloc(4096, at=BASE), world.kernel(SCALE, [8, 4])
    world.launch(scale, [memory, 4])
    world.sync()
    found = joined(world, tmp_path, line(BASE + 0x1000))
    assert found.severity == "warning" and found.site is None
    assert "in no recorded memory; the nearest is memory #1 (4,096 bytes)" in found.message
    assert "no recorded launch may have been running" in found.message


def test_live_memory_of_the_launch_is_no_miss(world: CudaWorld, tmp_path: Path) -> None:
    """A page that is there and may not be written, or belongs to another device: nobody is blamed by distance."""
    memory, scale = world.alloc(8192, at=BASE), world.kernel(SCALE, [8, 4])
    world.launch(scale, [memory, 4])
    found = joined(world, tmp_path, line(BASE, "Write access to a read-only page."))
    assert found.severity == "warning" and "inside memory #1 (8,192 bytes)" in found.message


def test_far_away_is_nobodys(world: CudaWorld, tmp_path: Path) -> None:
    memory, scale = world.alloc(8192, at=BASE), world.kernel(SCALE, [8, 4])
    world.launch(scale, [memory, 4])
    assert joined(world, tmp_path, line(0x1000_0000_0000)).severity == "warning"


def test_words_without_an_address_say_nothing_here(world: CudaWorld, tmp_path: Path) -> None:
    facts = derive(world.write(tmp_path / "1-0.gdx"))
    text = "Queue at 0x7f00 inactivated due to async error:\n\tHSA_STATUS_ERROR_EXCEPTION: An HSAIL operation\n"
    assert [one.address for one in faults_in(text)] == [None] and list(join(faults_in(text), facts)) == []
    assert list(join((), facts)) == [] and faults_in("all is well\n") == ()


def test_what_is_told_twice_is_one() -> None:
    page = 0x7F0000001000
    named = f":0:x.cpp:1: Memory Fault Error [GPU index: 0, faulting addr: {page:#x},\n  kernel: gemm]\n"
    (one,) = faults_in(named + line(page))
    assert one == DeviceFault("faulted", one.said, page, 4096, None, "GPU 0", "gemm")
