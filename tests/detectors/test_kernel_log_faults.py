"""Faults whose address only the kernel's log has: joined to the launches that may have been running."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.cuda_world import CudaWorld

from gpudx.detectors import Run, detect_all
from gpudx.diagnose import diagnose
from gpudx.facts import derive
from gpudx.model import Diagnosis, Finding, Outcome
from gpudx.trace.kernel_log import ELSEWHERE, NAME

FAILED = Outcome("exit", "The program exited with status 1.", 1)
WORK, FAR = "_Z4workPii", "_Z3farPil"
AWAY = 1 << 38


@pytest.fixture
def cuda(schema: str) -> CudaWorld:
    return CudaWorld(schema)


def xid(address: int, pid: int, access: str = "WRITE", name: str = "app") -> str:
    page = f"{address & ~4095:012x}"
    return (
        f"[   35.529508] NVRM: Xid (PCI:0000:00:06): 31, pid={pid}, name={name}, channel 0x0000000a, intr 00000000. MMU Fault: "
        f"ENGINE GRAPHICS GPC0 GPCCLIENT_T1_16 faulted @ 0x{page[:4]}_{page[4:]}. Fault is of type FAULT_PDE ACCESS_TYPE_VIRT_{access}"
    )


def judged(world: CudaWorld, folder: Path, *lines: str) -> tuple[list[Finding], Diagnosis]:
    trace = world.write(folder / "1-0.gdx")
    (folder / NAME).write_text("\n".join(lines) + "\n")
    found = list(detect_all(derive(trace), Run(FAILED)))
    return [f for f in found if f.id == "device-fault-printed"], diagnose(found, FAILED)[0]


def streams(cuda: CudaWorld) -> int:
    """Three launches in three streams that nothing waited for; the second one's number leads far out of the memory that is returned."""
    memory, work, far = cuda.alloc(4096), cuda.kernel(WORK, [8, 4]), cuda.kernel(FAR, [8, 8])
    for stream, kernel, number in ((0x91, work, 1024), (0x92, far, AWAY), (0x93, work, 512)):
        cuda.launch(kernel, [memory, number], queue=stream)
    cuda.sync(status=700)
    return memory



def test_of_launches_at_once_the_one_whose_numbers_lead_there(cuda: CudaWorld, tmp_path: Path) -> None:
    memory = streams(cuda)
    found, told = judged(cuda, tmp_path, xid(memory + 4 * AWAY, cuda.write(tmp_path / "1-0.gdx").pid))
    assert told.status == "confirmed" and told.cause == "out-of-bounds-access"
    assert told.guilty is not None and (told.guilty.kernel, told.guilty.launch, told.guilty.argument) == ("far", 2, 0)
    assert "argument 0 + argument 1 (274,877,906,944) x 4 bytes" in found[0].message


def test_a_fault_of_a_copy_engine_is_no_kernels(cuda: CudaWorld, tmp_path: Path) -> None:
    memory = streams(cuda)
    line = xid(memory + 4 * AWAY, cuda.write(tmp_path / "1-0.gdx").pid).replace("GPC0 GPCCLIENT_T1_16", "HUBCLIENT_CE0")
    assert not judged(cuda, tmp_path, line)[0]


def test_an_address_that_no_number_leads_to_tells_nothing(cuda: CudaWorld, tmp_path: Path) -> None:
    memory = streams(cuda)
    found, told = judged(cuda, tmp_path, xid(memory + 12345678901234, cuda.write(tmp_path / "1-0.gdx").pid))
    assert not found and told.guilty is None


@pytest.mark.parametrize(("past", "access", "named"), [(4096, "WRITE", 0), (4096, "READ", 0), (64 << 20, "WRITE", None)])
def test_a_page_right_behind_the_memory_names_it(
    cuda: CudaWorld, tmp_path: Path, past: int, access: str, named: int | None
) -> None:
    """A page far behind it may as well have been meant for other memory."""
    size = 1 << 20
    memory, kernel = cuda.alloc(size), cuda.kernel(WORK, [8, 4])
    cuda.launch(kernel, [memory, 77])
    cuda.sync(status=700)
    found, told = judged(cuda, tmp_path, xid(memory + size + past, cuda.write(tmp_path / "1-0.gdx").pid, access))
    assert [f.site.argument for f in found if f.site] == ([named] if named is not None else [])
    assert told.guilty is not None and told.guilty.launch == 1


def test_a_write_is_not_blamed_on_a_pointer_to_const(cuda: CudaWorld, tmp_path: Path) -> None:
    copy = cuda.kernel("_Z4copyPKfPfi", [8, 8, 4])
    source, target = cuda.alloc(1 << 20), cuda.alloc(1 << 20, at=0x7000_0000_0000)
    cuda.launch(copy, [source, target, 77])
    cuda.sync(status=700)
    line = xid(source + (1 << 20) + 4096, cuda.write(tmp_path / "1-0.gdx").pid, "WRITE")
    assert not judged(cuda, tmp_path, line)[0]
    assert judged(cuda, tmp_path, line.replace("WRITE", "READ"))[0]


def test_freed_memory_that_no_launch_was_passed_is_no_use_after_free(cuda: CudaWorld, tmp_path: Path) -> None:
    gone, memory, kernel = cuda.alloc(1 << 20), cuda.alloc(1 << 20), cuda.kernel(WORK, [8, 4])
    cuda.free(gone)
    cuda.launch(kernel, [memory, 1024])
    cuda.sync(status=700)
    found, told = judged(cuda, tmp_path, xid(gone + 8192, cuda.write(tmp_path / "1-0.gdx").pid))
    assert not found and told.cause != "use-after-free"


def test_a_fault_of_another_process_is_not_taken(cuda: CudaWorld, tmp_path: Path) -> None:
    memory = streams(cuda)
    found, told = judged(cuda, tmp_path, xid(memory + 4 * AWAY, 4_000_000))
    assert not found and told.guilty is None


def test_in_a_container_the_name_of_the_process_counts(cuda: CudaWorld, tmp_path: Path) -> None:
    memory = streams(cuda)
    name = Path(cuda.write(tmp_path / "1-0.gdx").exe).name[:15]
    found, _ = judged(cuda, tmp_path, ELSEWHERE, xid(memory + 4 * AWAY, 4_000_000, name=name))
    assert found and not judged(cuda, tmp_path, ELSEWHERE, xid(memory + 4 * AWAY, 4_000_000, name="other"))[0]


def test_a_page_of_freed_memory(cuda: CudaWorld, tmp_path: Path) -> None:
    memory, kernel = cuda.alloc(1 << 20), cuda.kernel(WORK, [8, 4])
    cuda.free(memory)
    cuda.launch(kernel, [memory, 1024])
    cuda.sync(status=700)
    _, told = judged(cuda, tmp_path, xid(memory + 8192, cuda.write(tmp_path / "1-0.gdx").pid, "READ"))
    assert told.cause == "use-after-free" and told.guilty is not None and told.guilty.launch == 1


def test_the_only_one_that_was_given_null(cuda: CudaWorld, tmp_path: Path) -> None:
    memory, work = cuda.alloc(4096), cuda.kernel(WORK, [8, 4])
    cuda.launch(work, [memory, 1024], queue=0x91)
    cuda.launch(work, [0, 1024], queue=0x92)
    cuda.sync(status=700)
    found, told = judged(cuda, tmp_path, xid(0, cuda.write(tmp_path / "1-0.gdx").pid, "READ"))
    assert found[0].causes == ("null-pointer",) and told.guilty is not None and told.guilty.launch == 2


def test_a_null_field_of_a_structure_is_named(cuda: CudaWorld, tmp_path: Path) -> None:
    memory, kernel = cuda.alloc(4096), cuda.kernel("_Z5layer4Fieldi", [24, 4])
    cuda.launch(kernel, [memory.to_bytes(8, "little") + (7).to_bytes(8, "little") + bytes(8), 77])
    cuda.sync(status=700)
    found, told = judged(cuda, tmp_path, xid(0, cuda.write(tmp_path / "1-0.gdx").pid, "READ"))
    assert told.cause == "null-pointer" and told.status == "confirmed" and told.guilty is not None and told.guilty.argument == 0
    assert "the pointer at byte 16 of argument 0 was null" in found[0].message


def test_page_0_is_no_address_where_no_launch_was_passed_null(cuda: CudaWorld, tmp_path: Path) -> None:
    memory, kernel = cuda.alloc(4096), cuda.kernel(WORK, [8, 4])
    cuda.launch(kernel, [memory, 1 << 20])
    cuda.sync(status=700)
    found, told = judged(cuda, tmp_path, xid(0, cuda.write(tmp_path / "1-0.gdx").pid))
    assert not found and told.cause != "null-pointer"


def streamed(cuda: CudaWorld, wait: bool) -> int:
    """A launch in one stream, and a free of its memory in another one, which waits for it or not; the memory."""
    memory = cuda.create("cuMemAllocAsync", result=0x7F20_0000_0000, size=1 << 20, queue=0x91)
    cuda.launch(cuda.kernel(WORK, [8, 4]), [memory, 1024], queue=0x91)
    if wait:
        event = cuda.create("cuEventCreate", flags=0)
        cuda.call("cuEventRecord", event=event, queue=0x91)
        cuda.call("cuStreamWaitEvent", queue=0x92, event=event)
    cuda.call("cuMemFreeAsync", mem=memory, queue=0x92)
    cuda.sync(status=700)
    return memory


@pytest.mark.parametrize(("wait", "cause"), [(False, "freed-while-in-use"), (True, "use-after-free")])
def test_a_free_that_does_not_wait_for_the_launch(cuda: CudaWorld, tmp_path: Path, wait: bool, cause: str) -> None:
    """The free is the line to change; that an order is missing is said only where it is."""
    memory = streamed(cuda, wait)
    (found,), _ = judged(cuda, tmp_path, xid(memory, cuda.write(tmp_path / "1-0.gdx").pid))
    assert found.causes[0] == cause and found.root is not None and found.root.call == "cuMemFreeAsync"
    assert "which cuMemFreeAsync (call" in found.message and ("nothing orders it" in found.message) is not wait
