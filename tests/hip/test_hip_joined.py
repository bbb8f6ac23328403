"""Messages of AMD's runtime, kernel driver and tools, joined by address to the run that was recorded. Execution is simulated."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hip_kit import Kit
from support import forked


@pytest.fixture(scope="module")
def case(kit: Kit, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int]:
    """A recorded run that faulted right past its buffer, and the page of it."""
    folder = tmp_path_factory.mktemp("joined")
    found = kit.case_of(kit.hip_program("faults"), folder, "past", GPUDX_HIP_SIM_FAULT="abort")
    page = re.search(r"page (0x[0-9a-f]+)", json.dumps(found["findings"]))
    assert page
    return folder / "case", int(page[1], 16)


def explained(text: str, folder: Path, run: Path) -> tuple[int, str]:
    log = folder / "log.txt"
    log.write_text(text)
    done = forked.gpudx("explain", log, "--run", run, "-f", "json")
    return done.returncode, done.stdout + done.stderr


LOGS = {
    "runtime": "Memory access fault by GPU node-1 on address {page:#x}\n",
    "runtime with a reason": "Memory access fault by GPU node-1 (Agent handle: 0x5) on address {page:#x}. Reason: Unknown.\n",
    "kernel driver": "[ 1.5] amdgpu 0000:0a:00.0: amdgpu: [gfxhub] page fault (src_id:0 ring:24 vmid:8 pasid:32770)\n"
    "[ 1.5] amdgpu 0000:0a:00.0: amdgpu:   in page starting at address {page:#018x} from client 10\n",
    "debug agent": "System event (HSA_AMD_GPU_MEMORY_FAULT_EVENT: page not present)\nFaulting page: {page:#x}\n",
}


@pytest.mark.parametrize("log", LOGS)
def test_the_buffer_and_the_launch_are_named(case: tuple[Path, int], tmp_path: Path, log: str) -> None:
    run, page = case
    status, told = explained(LOGS[log].format(page=page), tmp_path, run)
    assert status == 0
    assert "right past the end of memory #1 (4,096 bytes)" in told
    assert "launch 1 of kernel touch got it as argument 0" in told


def test_an_address_of_nothing_that_was_recorded_accuses_nobody(case: tuple[Path, int], tmp_path: Path) -> None:
    run, page = case
    status, told = explained(LOGS["runtime"].format(page=page + (1 << 40)), tmp_path, run)
    assert status == 0 and "in no memory that it recorded" in told and "kernel touch" not in told


def test_a_folder_without_a_run_is_refused_in_one_sentence(tmp_path: Path) -> None:
    status, told = explained(LOGS["runtime"].format(page=4096), tmp_path, tmp_path)
    assert status == 2 and len(told.strip().splitlines()) == 1 and "gpudx run" in told
