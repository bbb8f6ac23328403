"""Waves that ROCm's debug agent wrote while a program ran under `gpudx run --dump`. Agent and execution are simulated."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hip_kit import Kit
from support import forked

from gpudx.backends.hip import agent


def dumped(kit: Kit, folder: Path, word: str, **environment: str) -> dict[str, Any]:
    """The case of a run with --dump, on a machine that has the agent."""
    library = folder / "rocm" / "lib" / agent.LIBRARY
    library.parent.mkdir(parents=True)
    library.write_bytes(b"")
    built = kit.hip_program("faults")
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("HIP_", "HSA_", "LD_"))}
    env = clean | {"GPUDX_LIB": str(kit.recorder), "ROCM_PATH": str(folder / "rocm")} | built.environment | environment
    forked.gpudx("run", "--dump", "--case", folder / "case", "--", built.program, word, env=env)
    return dict(json.loads((folder / "case/case.json").read_text()))


@pytest.mark.parametrize("shape", ["old", "new"])
@pytest.mark.parametrize("fault", ["abort", "queue-fault"])
def test_the_wave_names_launch_argument_and_address(kit: Kit, tmp_path: Path, shape: str, fault: str) -> None:
    case = dumped(kit, tmp_path, "past", GPUDX_HIP_SIM_AGENT=shape, GPUDX_HIP_SIM_FAULT=fault)
    (found,) = [one for one in case["findings"] if one["id"] == "device-fault"]
    assert "touch (launch 1) wrote 4 bytes" in found["message"] and "past the end of argument 0" in found["message"]
    assert any("lane 0 wrote 4 bytes at 0x" in one["text"] for one in found["evidence"])
    best = case["diagnosis"][0]
    assert (best["status"], best["guilty"]["kernel"], best["guilty"]["argument"]) == ("confirmed", "touch", 0)
    assert "wrote 4 bytes" in best["summary"]  # the wave's access, not the page that the runtime printed of the same fault
    assert not [one for one in case["findings"] if one["id"] == "device-fault-printed"]


def test_the_pointer_in_the_registers_tells_launches_of_one_kernel_apart(kit: Kit, tmp_path: Path) -> None:
    """Two launches of the same kernel, with different buffers: the second one overran its own."""
    case = dumped(kit, tmp_path, "second", GPUDX_HIP_SIM_FAULT="abort", GPUDX_CRUMBS="off")
    (found,) = [one for one in case["findings"] if one["id"] == "device-fault"]
    assert "launch 2" in found["message"]


@pytest.mark.parametrize("crumbs", ["", "off"])
def test_the_last_launch_of_the_kernel_is_not_accused_for_being_last(kit: Kit, tmp_path: Path, crumbs: str) -> None:
    """The first of two overran its buffer. Breadcrumbs show it; without them, its buffer is the nearest to the address."""
    case = dumped(kit, tmp_path, "first", GPUDX_HIP_SIM_FAULT="abort", GPUDX_CRUMBS=crumbs)
    (found,) = [one for one in case["findings"] if one["id"] == "device-fault"]
    assert "launch 1" in found["message"] and "launch 2" not in found["message"]
    assert found["attribution"] == ("probable" if crumbs else "this")
    assert case["diagnosis"][0]["guilty"]["launch"] == 1


def test_a_program_that_does_not_fault_leaves_no_waves(kit: Kit, tmp_path: Path) -> None:
    case = dumped(kit, tmp_path, "good")
    assert case["outcome"]["kind"] == "passed" and not [f for f in case["findings"] if f["severity"] == "error"]


def test_what_the_user_has_set_stays(tmp_path: Path) -> None:
    library = tmp_path / "lib" / agent.LIBRARY
    library.parent.mkdir()
    library.write_bytes(b"")
    base = {"ROCM_PATH": str(tmp_path)}
    assert agent.settings(tmp_path, base)[agent.TOOLS] == str(library)
    assert agent.settings(tmp_path, base | {agent.TOOLS: "mine.so"}) == {}
    assert agent.settings(tmp_path / "with blank", base) == {}


@pytest.mark.parametrize("there", [True, False])
def test_doctor_looks_for_the_agent(tmp_path: Path, there: bool) -> None:
    library = tmp_path / "lib" / agent.LIBRARY
    library.parent.mkdir()
    if there:
        library.write_bytes(b"")
    elif agent.found({}):
        pytest.skip("this machine has the agent")
    env = dict(os.environ) | {"ROCM_PATH": str(tmp_path)}
    command = [sys.executable, "-P", agent.__file__]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, str(library) in done.stdout) == (0 if there else 3, there)
