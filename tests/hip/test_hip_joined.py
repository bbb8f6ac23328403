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


WAVES = {
    "debug agent": """System event (HSA_AMD_GPU_MEMORY_FAULT_EVENT: page not present)
Faulting page: {page:#x}

wave_1: pc=0x7f10 (stopped, reason: MEMORY_VIOLATION)

    exec: 0000000000000001
    v2: [0] {low:08x}
    v3: [0] {high:08x}

Disassembly for function touch(int*, int, int):
    0x7f08 <+8>:    global_store_dword v[2:3], v1, off
 => 0x7f10 <+16>:    s_endpgm
""",
    "rocgdb": """Thread 7 "faults" received signal SIGSEGV, Segmentation fault.
[Switching to thread 7, lane 0 (AMDGPU Lane 1:2:1:1/0 (0,0,0)[0,0,0])]
0x00007ffff7e3c010 in touch (x=0x7fff00001000, from=1024, count=1) at faults_kernels.hip:7
(gdb) info registers v2 v3 exec
v2             {{{low:#x}, 0x0 <repeats 63 times>}}
v3             {{{high:#x}, 0x0 <repeats 63 times>}}
exec           0x1                 1
(gdb) x/2i $pc-8
   0x7ffff7e3c008 <_Z5touchPiii+88>:\tglobal_store_dword v[2:3], v1, off
=> 0x7ffff7e3c010 <_Z5touchPiii+96>:\ts_endpgm
""",
}


@pytest.mark.parametrize("log", WAVES)
def test_a_wave_names_the_launch_and_the_argument(case: tuple[Path, int], tmp_path: Path, log: str) -> None:
    run, page = case
    text = WAVES[log].format(page=page, low=page & 0xFFFFFFFF, high=page >> 32)
    status, told = explained(text, tmp_path, run)
    assert status == 0 and "lane 0 wrote 4 bytes" in told
    assert "Kernel touch (launch 1, " in told and "right at the end of memory #1 (argument 0)" in told


def test_the_next_command_is_that_of_the_run(case: tuple[Path, int], tmp_path: Path) -> None:
    run, page = case
    text = WAVES["debug agent"].format(page=page, low=page & 0xFFFFFFFF, high=page >> 32)
    told = explained(text, tmp_path, run)[1]
    assert "/faults past" in told and "./app" not in told


def test_an_address_of_the_host_names_the_argument(kit: Kit, tmp_path: Path) -> None:
    found = kit.case_of(kit.hip_program("table"), tmp_path, GPUDX_HIP_SIM_FAULT="abort")
    page = re.search(r"page (0x[0-9a-f]+)", json.dumps(found["findings"]))
    assert page
    told = explained(LOGS["runtime"].format(page=int(page[1], 16)), tmp_path, tmp_path / "case")[1]
    assert "is on the program's heap, which the device cannot reach" in told
    assert "launch 1 of kernel map got it as argument 1" in told


ABORTED = "Callback: Queue 0x7e Aborting with error : HSA_STATUS_ERROR_MEMORY_FAULT: Agent attempted to. code: 0x2b\n"


def test_a_status_without_an_address_lists_the_launch_that_was_running(case: tuple[Path, int], tmp_path: Path) -> None:
    status, told = explained(ABORTED, tmp_path, case[0])
    assert status == 0 and "launch 1 of kernel touch was the only launch that may have been running" in told


def test_a_wave_of_another_kernel_accuses_no_launch(case: tuple[Path, int], tmp_path: Path) -> None:
    run, _ = case
    _, _, wave = WAVES["debug agent"].partition("{page:#x}\n")
    told = explained(wave.replace("touch(", "blur(").format(low=0x1000, high=1), tmp_path, run)[1]
    assert "The kernel blur accessed memory" in told and "launch 1" not in told


def test_an_address_of_nothing_that_was_recorded_accuses_nobody(case: tuple[Path, int], tmp_path: Path) -> None:
    run, page = case
    status, told = explained(LOGS["runtime"].format(page=page + (1 << 40)), tmp_path, run)
    assert status == 0 and "in no memory that it recorded" in told and "kernel touch" not in told


def test_a_folder_without_a_run_is_refused_in_one_sentence(tmp_path: Path) -> None:
    status, told = explained(LOGS["runtime"].format(page=4096), tmp_path, tmp_path)
    assert status == 2 and len(told.strip().splitlines()) == 1 and "gpudx run" in told
