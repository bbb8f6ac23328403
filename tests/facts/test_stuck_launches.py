"""What a launch that does not end may wait for, as its numbers show it: synthetic traces."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.cuda_world import CudaWorld

from gpudx.facts import derive
from gpudx.facts.stuck import Suspicion, suspicions

UNITS, THREADS = 10, 2048  # of the device of a CudaWorld


@pytest.fixture
def cuda(schema: str) -> CudaWorld:
    return CudaWorld(schema)


def found(cuda: CudaWorld, folder: Path, launch: int) -> list[Suspicion]:
    return list(suspicions(derive(cuda.write(folder / "1-0.gdx")), launch))


@pytest.mark.parametrize(("block", "fit"), [(512, UNITS * 4), (1000, UNITS * 2), (32, UNITS * 32)])
def test_more_blocks_than_fit_on_the_device(cuda: CudaWorld, tmp_path: Path, block: int, fit: int) -> None:
    """1,000 threads are 32 warps; of small blocks only 32 fit on a multiprocessor."""
    launch = cuda.launch(cuda.kernel("wave", [8]), [cuda.alloc(64)], (8192, 1, 1), (block, 1, 1))
    (one,) = found(cuda, tmp_path, launch)
    assert one.text.startswith(f"8,192 blocks, at most {fit} can be on the device at once") and f"at most {fit} of them" in one.step


@pytest.mark.parametrize("device", [{}, {"threads_per_unit": 0}])
def test_blocks_that_fit_and_devices_without_numbers_are_silent(schema: str, tmp_path: Path, device: dict[str, int]) -> None:
    cuda = CudaWorld(schema, device=device)
    launch = cuda.launch(cuda.kernel("wave", [8]), [cuda.alloc(64)], (UNITS * 4, 1, 1) if not device else (8192, 1, 1), (512, 1, 1))
    assert not found(cuda, tmp_path, launch)


def mailbox(cuda: CudaWorld, *, waits: bool, on_host: bool = True) -> int:
    memory = cuda.create("cuMemHostAlloc", result=0x7D0000000000, size=64) if on_host else cuda.alloc(64)
    launch = cuda.launch(cuda.kernel("serve", [8]), [memory])
    if waits:
        cuda.sync(open_=True)
    return launch


def test_host_memory_that_the_waiting_host_cannot_write(cuda: CudaWorld, tmp_path: Path) -> None:
    (one,) = found(cuda, tmp_path, mailbox(cuda, waits=True))
    assert "(argument 0) is host memory" in one.text and "in cuStreamSynchronize" in one.text
    assert one.step.startswith("If serve waits for the host to write")


@pytest.mark.parametrize("how", [{"waits": False}, {"waits": True, "on_host": False}])
def test_a_host_that_does_not_wait_and_memory_of_the_device_are_silent(cuda: CudaWorld, tmp_path: Path, how: dict[str, bool]) -> None:
    assert not found(cuda, tmp_path, mailbox(cuda, **how))
