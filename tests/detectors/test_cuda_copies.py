"""Copies, fills and frees in CUDA processes: each fault loud, its correct twin silent."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from support.cuda_world import CudaWorld
from support.detecting import Look
from support.typed import beyond, fact, label

from gpudx.detectors import Run, detect_all
from gpudx.diagnose import diagnose
from gpudx.facts import derive
from gpudx.model import Finding, Outcome

SCALE = "_Z5scalePfi"
HEAP = 0x5555_0000_0000
FAILED, PASSED = Outcome("exit", "The program exited with status 1.", 1), Outcome("passed", "")


@pytest.fixture
def cuda(schema: str) -> CudaWorld:
    return CudaWorld(schema)


def heaped(world: CudaWorld, folder: Path, outcome: Outcome = FAILED) -> list[Finding]:
    """What is found where the addresses from HEAP on are the program's heap."""
    facts = derive(world.write(folder / "1-0.gdx"))
    # A driver reserves the addresses of its devices' memory in the process.
    facts.symbols.kind = lambda address: "heap" if HEAP <= address < HEAP + (1 << 30) else "reserved"  # type: ignore[method-assign]
    return list(detect_all(facts, Run(outcome)))


def of(found: list[Finding], name: str) -> list[Finding]:
    return [f for f in found if f.id == name]


def box2(src: int, dst: int, **more: int) -> dict[str, int]:
    """The words of a copy of rows, device to device unless told otherwise."""
    words = {"src": src, "dst": dst, "src_pitch": 128, "dst_pitch": 128, "width": 64, "height": 4, "depth": 1}
    return {**words, "kinds": 2 + 256 * 2, **more}


def structure2(src_x: int, dst_x: int) -> bytes:
    """CUDA_MEMCPY2D, as far as it is looked into."""
    return struct.pack("<Q48xQ", src_x, dst_x).ljust(128, b"\0")


def structure3(src_rows: int, dst_rows: int) -> bytes:
    return struct.pack("<80xQ80xQ", src_rows, dst_rows).ljust(200, b"\0")


# ---- addresses in no allocation ----


def refused_fill(world: CudaWorld, folder: Path, at: int, status: int = 1) -> list[Finding]:
    world.alloc(200_448, at=0x7F10_0000_0000)
    world.alloc(1 << 20, at=0x7F10_4000_0000)
    world.call("cuMemsetD8Async", dst=at, value=0, count=12, queue=0, status=status)
    return of(heaped(world, folder, FAILED if status else PASSED), "refused-value")


def test_a_refused_fill_of_an_address_in_no_allocation_names_the_nearest(cuda: CudaWorld, tmp_path: Path) -> None:
    (found,) = refused_fill(cuda, tmp_path, 0x7F10_0000_0000 + 200_448 + 1_234_432)
    assert found.causes == ("copy-range",) and found.allocation is not None and found.allocation.size == 200_448
    assert "is in no allocation; it is 1,234,432 bytes past the end of memory #1 (200,448 bytes, cuMemAlloc_v2, call " in found.message


@pytest.mark.parametrize(("at", "status"), [(0x7F10_0000_0100, 1), (0x40, 1), (HEAP, 1), (0x7FFF_0000_0000, 1), (0x7F10_0100_0000, 0)])
def test_a_fill_of_live_memory_of_null_or_that_was_accepted_is_not_explained_so(
    cuda: CudaWorld, tmp_path: Path, at: int, status: int
) -> None:
    assert not any("in no allocation" in one.message for one in refused_fill(cuda, tmp_path, at, status))


# ---- direction ----


@pytest.mark.parametrize("call", ["cuMemcpyHtoD_v2", "cuMemcpyHtoDAsync_v2"])
def test_a_copy_the_wrong_way(cuda: CudaWorld, tmp_path: Path, call: str) -> None:
    memory = cuda.alloc(4096)
    cuda.call(call, dst=HEAP, src=memory, size=4096, status=1)
    (one,) = of(heaped(cuda, tmp_path), "copy-direction")
    assert len(fact(one, "sides").split()) == 2 and one.severity == "error"
    assert "an address on the program's heap as its destination, which must be device memory" in one.message
    assert "memory #1, which is device memory, as its source, which must be host memory" in one.message


def test_the_verdict_on_a_refused_copy(cuda: CudaWorld, tmp_path: Path) -> None:
    cuda.call("cuMemcpyDtoH_v2", dst=HEAP + 64, src=HEAP, size=16, status=1)
    told = diagnose(heaped(cuda, tmp_path), FAILED)
    assert (told[0].cause, told[0].status) == ("copy-direction", "confirmed")


def test_a_fill_and_a_copy_on_the_device_that_are_given_host_memory(cuda: CudaWorld, tmp_path: Path) -> None:
    memory = cuda.alloc(64)
    cuda.call("cuMemsetD8_v2", dst=HEAP, value=0, count=64, status=1)
    cuda.call("cuMemcpyDtoD_v2", dst=memory, src=HEAP, size=64, status=1)
    fill, copy = of(heaped(cuda, tmp_path), "copy-direction")
    assert fill.message.startswith("cuMemsetD8_v2 was passed an address on the program's heap as its destination")
    assert copy.message.startswith("cuMemcpyDtoD_v2 was passed an address on the program's heap as its source")


@pytest.mark.parametrize("maker", ["cuMemAllocManaged", "cuMemHostAlloc", "cuMemHostRegister_v2"])
def test_memory_that_can_stand_on_either_side_is_silent(cuda: CudaWorld, tmp_path: Path, maker: str) -> None:
    either = cuda.create(maker, result=HEAP + 4096, size=4096)
    cuda.call("cuMemcpyHtoD_v2", dst=either, src=either + 2048, size=64, status=1)
    assert not of(heaped(cuda, tmp_path), "copy-direction")


def test_copies_that_went_well_or_failed_for_other_reasons_are_silent(cuda: CudaWorld, tmp_path: Path) -> None:
    memory = cuda.alloc(4096)
    cuda.call("cuMemcpyHtoD_v2", dst=HEAP, src=memory, size=64)
    cuda.call("cuMemcpyHtoD_v2", dst=HEAP, src=memory, size=64, status=201)
    cuda.call("cuMemcpyHtoD_v2", dst=memory, src=HEAP, size=64, status=1)
    assert not of(heaped(cuda, tmp_path), "copy-direction")


def test_devices_that_reach_ordinary_memory_are_silent(schema: str, tmp_path: Path) -> None:
    cuda = CudaWorld(schema, device={"pageable_access": 1})
    cuda.call("cuMemsetD8_v2", dst=HEAP, value=0, count=64, status=1)
    assert not of(heaped(cuda, tmp_path), "copy-direction")


def test_a_copy_that_the_driver_died_in(cuda: CudaWorld, tmp_path: Path) -> None:
    memory = cuda.alloc(4096)
    cuda.call("cuMemcpyDtoH_v2", dst=memory, src=memory, size=64, open_=True)
    cuda.header |= {"signal": 11, "signal_tid": 1, "signal_code": 1, "signal_address": memory, "ended": 0}
    (one,) = of(heaped(cuda, tmp_path, Outcome("signal", "", signal="SIGSEGV")), "copy-direction")
    assert "as its destination, which must be host memory" in one.message
    assert one.evidence[0].text == "cuMemcpyDtoH_v2 never returned"


# ---- pitch ----


@pytest.mark.parametrize(("pitch", "x", "loud"), [(128, 0, False), (63, 0, True), (100, 48, True), (112, 48, False)])
def test_rows_longer_than_the_pitch(cuda: CudaWorld, look: Look, pitch: int, x: int, loud: bool) -> None:
    a, b = cuda.alloc(4096), cuda.alloc(4096)
    cuda.call("cuMemcpy2D_v2", arrays={"copy": structure2(0, x)}, **box2(a, b + x, dst_pitch=pitch), status=int(loud))
    found = of(look(cuda, "exit"), "copy-pitch")
    assert bool(found) == loud
    if loud:
        from_ = " from byte 48 of it on" if x else ""
        said = f"cuMemcpy2D_v2 writes 64 bytes of each row{from_}, but a row has only {pitch} (its pitch)."
        assert found[0].message == said and found[0].severity == "error" and label(found[0]) == "memory #2"


def test_one_row_needs_no_pitch(cuda: CudaWorld, look: Look) -> None:
    a, b = cuda.alloc(4096), cuda.alloc(4096)
    cuda.call("cuMemcpy2D_v2", arrays={"copy": structure2(0, 0)}, **box2(a, b, dst_pitch=1, height=1))
    cuda.call("cuMemsetD2D32_v2", dst=a, pitch=256, value=0, width=64, height=2)
    assert not look(cuda)


def test_fill_with_rows_longer_than_the_pitch(cuda: CudaWorld, look: Look) -> None:
    memory = cuda.alloc(4096)
    cuda.call("cuMemsetD2D32_v2", dst=memory, pitch=64, value=0, width=64, height=4, status=1)
    (one,) = of(look(cuda, "exit"), "copy-pitch")
    assert "writes 256 bytes of each row, but a row has only 64" in one.message


# ---- ranges ----


@pytest.mark.parametrize(("rows", "past"), [(4, 0), (5, 128 * 1)])
def test_the_last_layer_runs_outside(cuda: CudaWorld, look: Look, rows: int, past: int) -> None:
    """Two layers of three rows of 128 bytes; the rows per layer say where the second begins."""
    a, b = cuda.alloc(1 << 20), cuda.alloc(128 * 7)
    words = box2(a, b, width=128, height=3, depth=2)
    cuda.call("cuMemcpy3D_v2", arrays={"copy": structure3(3, rows)}, **words)
    assert [beyond(f) for f in of(look(cuda), "copy-range")] == ([past] if past else [])


def test_a_structure_that_could_not_be_kept(cuda: CudaWorld, look: Look) -> None:
    """Layers are then taken to lie as close as they can."""
    a, b = cuda.alloc(1 << 20), cuda.alloc(128 * 6)
    cuda.call("cuMemcpy3D_v2", **box2(a, b, width=128, height=3, depth=2))
    assert not look(cuda)
    cuda.call("cuMemcpy3D_v2", arrays={"copy": b"short"}, **box2(a, b, width=128, height=3, depth=3))
    assert [beyond(f) for f in look(cuda)] == [128 * 3]


def test_a_negative_size_is_read_as_one(cuda: CudaWorld, look: Look) -> None:
    memory = cuda.alloc(4096)
    cuda.call("cuMemcpyHtoD_v2", dst=memory + 16, src=HEAP, size=-8, status=1)
    cuda.call("cuMemsetD32_v2", dst=memory, value=0, count=1 << 62, status=1)
    copy, fill = of(look(cuda, "exit"), "copy-range")
    assert "18,446,744,073,709,551,608 is -8 as a signed number" in [e.text for e in copy.evidence]
    assert beyond(fill) == (1 << 64) - 1 - 4096


@pytest.mark.parametrize(("size", "past"), [(4096, 0), (4100, 4)])
def test_host_memory_that_the_driver_allocated_has_an_end(cuda: CudaWorld, look: Look, size: int, past: int) -> None:
    memory, pinned = cuda.alloc(1 << 20), cuda.create("cuMemHostAlloc", result=HEAP, size=4096)
    part = cuda.create("cuMemHostRegister_v2", result=HEAP + (1 << 20), size=64)
    cuda.call("cuMemcpyDtoH_v2", dst=pinned, src=memory, size=size)
    cuda.call("cuMemcpyDtoH_v2", dst=part, src=memory, size=size)
    assert [beyond(f) for f in look(cuda)] == ([past] if past else [])


def test_host_memory_that_was_freed_may_be_the_programs_again(cuda: CudaWorld, look: Look) -> None:
    memory, part = cuda.alloc(64), cuda.create("cuMemHostRegister_v2", result=HEAP, size=64)
    cuda.call("cuMemHostUnregister", mem=part)
    cuda.call("cuMemcpyDtoH_v2", dst=part, src=memory, size=64)
    assert not look(cuda)


# ---- overlap ----


@pytest.mark.parametrize(
    ("away", "size", "loud"),
    [(256, 4096, True), (-256, 4096, True), (4096, 4096, False), (0, 4096, False), (1, 1, False)],
)
def test_a_copy_onto_itself(cuda: CudaWorld, look: Look, away: int, size: int, loud: bool) -> None:
    memory = cuda.alloc(1 << 20) + 8192
    cuda.call("cuMemcpyDtoDAsync_v2", dst=memory + away, src=memory, size=size, queue=cuda.queue)
    found = look(cuda)
    assert [(f.id, f.severity) for f in found] == ([("copy-overlap", "error")] if loud else [])
    if loud:
        way = "ahead" if away > 0 else "back"
        assert f"4,096 bytes of memory #1 to a place only 256 bytes {way}" in found[0].message


@pytest.mark.parametrize(
    ("away", "loud"),
    [(64, False), (63, True), (2 * 128 + 64, False), (2 * 128 + 100, True), (3 * 128, True), (4 * 128, False)],
)
def test_rows_that_lie_between_rows_do_not_overlap(cuda: CudaWorld, look: Look, away: int, loud: bool) -> None:
    """Four rows of 64 bytes, 128 apart: the right half of a matrix is not the left one."""
    memory = cuda.alloc(1 << 20)
    cuda.call("cuMemcpy2DAsync_v2", arrays={"copy": structure2(0, 0)}, **box2(memory, memory + away), queue=cuda.queue)
    assert bool(of(look(cuda), "copy-overlap")) == loud


# ---- ordinary memory in a queue ----


@pytest.mark.parametrize(("size", "loud"), [(1 << 20, True), (64 << 10, False)])
def test_a_queued_copy_of_ordinary_memory_is_a_note(cuda: CudaWorld, tmp_path: Path, size: int, loud: bool) -> None:
    memory, pinned = cuda.alloc(1 << 20), cuda.create("cuMemHostAlloc", result=HEAP - (1 << 20), size=1 << 20)
    cuda.call("cuMemcpyHtoDAsync_v2", dst=memory, src=HEAP, size=size, queue=cuda.queue)
    cuda.call("cuMemcpyHtoDAsync_v2", dst=memory, src=pinned, size=size, queue=cuda.queue)
    cuda.call("cuMemcpyHtoD_v2", dst=memory, src=HEAP, size=size)
    found = heaped(cuda, tmp_path, PASSED)
    assert [(f.id, f.severity, f.count) for f in found] == ([("pageable-copy", "info", 1)] if loud else [])
    assert not diagnose(found, FAILED)


# ---- frees ----


def test_a_second_free_is_told(cuda: CudaWorld, look: Look) -> None:
    memory = cuda.alloc(64)
    cuda.free(memory)
    cuda.call("cuMemFree_v2", mem=memory, status=1)
    (one,) = look(cuda, "exit")
    assert one.id == "use-of-released-object" and "when cuMemFree_v2 (call 8) released it once more" in one.message


def test_a_free_inside_an_allocation(cuda: CudaWorld, look: Look) -> None:
    memory = cuda.alloc(4096)
    cuda.call("cuMemFree_v2", mem=memory + 256, status=1)
    (one,) = look(cuda, "exit")
    assert (one.id, fact(one, "reason"), label(one)) == ("wrong-free", "inside", "memory #1")
    assert one.message == "cuMemFree_v2 was passed an address 256 bytes into memory #1, not its beginning."
    (told,) = diagnose([one], FAILED)
    assert told.status == "likely" and told.reason.startswith("The driver refused this call")


def test_a_free_of_ordinary_memory(cuda: CudaWorld, tmp_path: Path) -> None:
    cuda.call("cuMemFree_v2", mem=HEAP + 64, status=1)
    cuda.call("cuMemHostUnregister", mem=HEAP, status=713)
    first, second = heaped(cuda, tmp_path)
    assert first.message == "cuMemFree_v2 was passed an address on the program's heap, which no recorded call returned."
    assert first.severity == "error" and second.site is not None and second.site.call == "cuMemHostUnregister"


def test_memory_of_another_family(cuda: CudaWorld, look: Look) -> None:
    memory, pinned = cuda.alloc(64), cuda.create("cuMemHostAlloc", result=HEAP, size=64)
    cuda.call("cuMemFree_v2", mem=pinned, status=1)
    cuda.call("cuMemFreeHost", mem=memory, status=1)
    first, second = look(cuda, "exit")
    assert first.message == "cuMemFree_v2 was passed memory #2, which cuMemHostAlloc made; cuMemFreeHost frees that."
    assert "which cuMemAlloc_v2 made; cuMemFree_v2 or cuMemFreeAsync frees that" in second.message


@pytest.mark.parametrize("maker", ["cuMemAllocAsync", "cuMemAllocManaged", "cuMemAlloc_v2"])
def test_frees_that_fit_are_silent(cuda: CudaWorld, look: Look, maker: str) -> None:
    """Memory of the stream-ordered allocator may be freed with cuMemFree; a refusal of it has another reason."""
    first, second = (cuda.create(maker, result=0x7E00_0000_0000 + (i << 20), size=512) for i in range(2))
    cuda.call("cuMemFree_v2", mem=first)
    cuda.call("cuMemFree_v2", mem=second, status=1)
    cuda.call("cuMemFree_v2", mem=0, status=1)
    assert not look(cuda, "exit")


# ---- a copy that only reports ----


def test_a_copy_that_reports_is_said_to_be_in_order(cuda: CudaWorld, look: Look) -> None:
    memory, kernel = cuda.alloc(4096), cuda.kernel(SCALE, [8, 4])
    cuda.launch(kernel, [memory, 1024])
    cuda.call("cuMemcpyDtoH_v2", dst=HEAP, src=memory + 64, size=4032, status=700)
    found = look(cuda, "exit")
    assert [f.id for f in found] == ["device-error-reported"]
    assert "the call itself is valid: what it was passed is inside memory #1" in [e.text for e in found[0].evidence]
    victim = diagnose(found, FAILED)[0].victim
    assert victim is not None and victim.description == "cuMemcpyDtoH_v2 only reported the fault."


def test_a_copy_that_reports_and_is_itself_wrong_is_not_called_innocent(cuda: CudaWorld, look: Look) -> None:
    memory, kernel = cuda.alloc(4096), cuda.kernel(SCALE, [8, 4])
    cuda.launch(kernel, [memory, 1024])
    cuda.call("cuMemcpyDtoH_v2", dst=HEAP, src=memory + 64, size=4096, status=700)
    found = {f.id: f for f in look(cuda, "exit")}
    assert set(found) == {"copy-range", "device-error-reported"}
    assert not any("in order" in e.text for e in found["device-error-reported"].evidence)
    assert diagnose(list(found.values()), FAILED)[0].cause == "copy-range"
