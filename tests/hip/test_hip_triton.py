"""Triton's own AMD driver under the recorder: kernels that Triton compiles for gfx942, launched through a simulated HIP 7. What runs is
the kernels' reference on the processor (programs/triton_add_kernels.c)."""

from __future__ import annotations

import importlib.util
import json
import os
import struct
import sys
from pathlib import Path
from typing import Any

import pytest
from cuda_kit import Ran, decode, of, values
from hip_kit import HERE, Kit
from support import forked

from gpudx.lab.build import Built

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("triton") is None, reason="Triton is not installed (pip install triton)"
)
PROGRAM = HERE / "programs/triton_add.py"
COUNT = 3000  # no multiple of the 1,024 elements that one program of the grid handles


@pytest.fixture(scope="module")
def environment(kit: Kit, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    kernels = kit.built("triton.so", "gcc", "-O1", "-g", "-fPIC", "-shared", HERE / "programs/triton_add_kernels.c")
    cache = os.environ.get("TRITON_CACHE_DIR") or str(tmp_path_factory.mktemp("triton"))
    return {
        "TRITON_LIBHIP_PATH": str(kit.runtime("7")),
        "TRITON_CACHE_DIR": cache,
        "TRITON_DEFAULT_FP_FUSION": "1",
        "GPUDX_HIP_SIM_KERNELS": str(kernels),
        "GPUDX_HIP_SIM_ARCH": "gfx942:sramecc+:xnack-",
    }


def run(kit: Kit, environment: dict[str, str], *words: str, record: bool = True) -> Ran:
    return kit.run_hip(Built(Path(sys.executable), environment), str(PROGRAM), str(COUNT), *words, record=record)


def case_of(kit: Kit, environment: dict[str, str], folder: Path, *words: str, mask: str = "unmasked") -> dict[str, Any]:
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("HIP_", "LD_"))}
    command = [sys.executable, PROGRAM, str(COUNT), mask]
    env = clean | environment | {"GPUDX_LIB": str(kit.recorder)}
    forked.gpudx(*words, "--case", folder / "case", "--", *command, env=env, timeout=240)
    return dict(json.loads((folder / "case/case.json").read_text()))


def test_the_launch_is_recorded_with_the_kernels_name_and_arguments(kit: Kit, environment: dict[str, str]) -> None:
    ran = run(kit, environment)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout == run(kit, environment, record=False).stdout == f"sum {2.0 * COUNT}\n"
    trace = ran.trace()
    calls = decode(trace)
    (launch,) = of(calls, "hipModuleLaunchKernel", "hipDrvLaunchKernelEx")
    memory = [c.words["result"] for c in of(calls, "hipMalloc")]
    given = [value for _, _, value in values(trace, launch.position)]
    assert given[:3] == [struct.pack("<Q", address) for address in memory]
    assert given[3] == struct.pack("<i", COUNT)
    assert len(given) == 6  # and two pointers to scratch memory, which Triton adds
    assert (launch.words["grid_x"], launch.words["block_x"]) == (3, 256)


def test_a_missing_mask_is_found_by_the_fence(kit: Kit, environment: dict[str, str], tmp_path: Path) -> None:
    """The store of the last 72 elements goes past the end of the buffer, where the page still has room: the plain run passes."""
    plain = run(kit, environment, "unmasked")
    assert plain.returncode == 0 and plain.stdout == f"sum {2.0 * COUNT}\n"
    best = case_of(kit, environment, tmp_path, "run", "--fence")["diagnosis"][0]
    assert (best["cause"], best["status"], best["guilty"]["kernel"]) == (
        "out-of-bounds-access",
        "likely",  # the runtime reports a status without an address
        "add_unmasked",
    )


PRINTS = {"GPUDX_HIP_SIM_FAULT": "abort"}  # what ROCm's runtime does with a fault: it prints the page, and aborts


@pytest.mark.parametrize("command", [("run", "--fence", "--stacks"), ("investigate", "--budget", "60s")])
def test_the_printed_page_names_the_buffer_that_lacks_the_mask(
    kit: Kit, environment: dict[str, str], tmp_path: Path, command: tuple[str, ...]
) -> None:
    """The plain run passes here too: `investigate` has to find out by itself that a fence is needed."""
    case = case_of(kit, environment | PRINTS, tmp_path, *command)
    best = case["diagnosis"][0]
    assert (best["cause"], best["status"]) == ("out-of-bounds-access", "confirmed"), best
    assert (best["guilty"]["kernel"], best["guilty"]["launch"], best["guilty"]["argument"]) == ("add_unmasked", 1, 2)
    assert f"past the end of buffer #3 ({4 * COUNT:,} bytes)" in best["summary"].replace("memory #", "buffer #")
    if "--stacks" in command:  # the Python line that launched
        assert "triton_add.py" in json.dumps(best["guilty"])


@pytest.mark.parametrize("command", [("run", "--fence"), ("investigate", "--budget", "60s")])
def test_a_kernel_with_its_mask_has_no_fault(
    kit: Kit, environment: dict[str, str], tmp_path: Path, command: tuple[str, ...]
) -> None:
    case = case_of(kit, environment | PRINTS, tmp_path, *command, mask="masked")
    assert case["outcome"]["kind"] == "passed" and not [f for f in case["findings"] if f["severity"] == "error"]
    assert not [one for one in case["diagnosis"] if one["status"] in ("confirmed", "likely")]


def test_the_mask_is_not_accused(kit: Kit, environment: dict[str, str]) -> None:
    ran = run(kit, environment | {"GPUDX_FENCE": "high"})
    assert ran.returncode == 0 and ran.stdout == f"sum {2.0 * COUNT}\n"
