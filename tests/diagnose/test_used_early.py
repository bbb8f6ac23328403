"""What is named where a program passes and prints something else as soon as it waits: processes by hand, and trials."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from support.cuda_world import CudaWorld

from gpudx.facts import derive
from gpudx.investigate import ordered
from gpudx.investigate.observed import PLAIN
from gpudx.investigate.ordered import SERIALISED, TRANSFERS
from gpudx.model import Case, Diagnosis, Outcome, Trial

CASE = Case(("app",), "", "", "", Outcome("passed", "The program ended."))
DATA = 0x5000
FUNCTION = 0x400000
Entry = Callable[[CudaWorld, str], Diagnosis | None]


@pytest.fixture
def cuda(schema: str) -> CudaWorld:
    return CudaWorld(schema)


@pytest.fixture
def entry(tmp_path: Path) -> Entry:
    def found(world: CudaWorld, change: str) -> Diagnosis | None:
        """Of plain runs that print one thing, and runs with the change that print another."""
        names = (PLAIN, change, change, PLAIN, PLAIN)
        trials = [Trial(name, "passed", "passed", 1.0, output="early" if name == PLAIN else "late") for name in names]
        return ordered.entry(trials, CASE, [derive(world.write(tmp_path / "1-0.gdx"))])

    return found


def test_managed_memory_inside_a_structure_of_several_kernels(cuda: CudaWorld, entry: Entry) -> None:
    weights, stats = cuda.alloc(4096), cuda.create("cuMemAllocManaged", result=0x7E0000000000, size=12)
    model = b"".join(one.to_bytes(8, "little") for one in (weights, 1024, stats))
    for name in ("train", "update", "summarise"):
        cuda.launch(cuda.kernel(name, [24]), [model])
    cuda.call("cuCtxSynchronize")
    one = entry(cuda, SERIALISED)
    assert one is not None and one.status == "likely" and one.cause == "host-access-during-kernel"
    assert "before the kernels that are passed it were done, the last of them kernel summarise (launch 3)" in one.summary
    assert "cuCtxSynchronize" in one.summary and one.guilty is not None and one.guilty.kernel == "summarise"
    assert any("an address in argument 0 of kernel summarise" in evidence.text for evidence in one.evidence)


def test_two_memories_of_two_kernels_are_not_told_apart(cuda: CudaWorld, entry: Entry) -> None:
    for at, name in enumerate(("train", "update")):
        memory = cuda.create("cuMemAllocManaged", result=0x7E0000000000 + (at << 20), size=64)
        cuda.launch(cuda.kernel(name, [8]), [memory])
    assert entry(cuda, SERIALISED) is None


def test_memory_that_only_devices_reach_is_not_named(cuda: CudaWorld, entry: Entry) -> None:
    cuda.launch(cuda.kernel("train", [8]), [cuda.alloc(64)])
    assert entry(cuda, SERIALISED) is None


def host_functions(cuda: CudaWorld, *, waits: bool = False, changes: bool = True, data: tuple[int, ...] = (DATA, DATA)) -> list[int]:
    """Copies to the host, each with a host function behind it; the recorder finds other bytes in its data."""
    host, device = cuda.create("cuMemAllocHost_v2", result=0x7D0000000000, size=4096), cuda.alloc(4096)
    made = []
    for number, one in enumerate(data):
        cuda.call("cuMemcpyDtoHAsync_v2", dst=host, src=device, size=4096, queue=cuda.queue)
        made.append(cuda.call("cuLaunchHostFunc", queue=cuda.queue, function=FUNCTION, user_data=one))
        if number and changes:
            cuda.note("note_source_changed", {"address": DATA, "size": 16, "flags": 0})
        if waits:
            cuda.sync()
    cuda.sync()
    return made


def test_data_of_a_host_function_that_is_used_again(cuda: CudaWorld, entry: Entry) -> None:
    first, again = host_functions(cuda)
    one = entry(cuda, TRANSFERS)
    assert one is not None and one.status == "likely" and one.cause == "host-function-data-reused"
    assert f"(call {first + 1})" in one.summary and f"(call {again + 1})" in one.summary
    assert one.guilty is not None and one.guilty.number == first + 1


@pytest.mark.parametrize(
    "how",
    [
        {"waits": True},
        {"changes": False},  # a pointer to an object that all host functions share
        {"data": (DATA, DATA + 64)},
    ],
)
def test_other_data_of_host_functions_is_not_blamed(cuda: CudaWorld, entry: Entry, how: dict[str, object]) -> None:
    host_functions(cuda, **how)  # type: ignore[arg-type]
    one = entry(cuda, TRANSFERS)
    assert one is None or one.cause == "host-memory-changed-under-copy"
