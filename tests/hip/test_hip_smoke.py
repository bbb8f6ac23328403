"""tools/hip_smoke.sh, for owners of AMD hardware: tried here on the simulated runtime."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from hip_kit import need_hipcc
from support.builds import ROOT

from gpudx.backends.hip import DEVICE

SCRIPT = ROOT / "tools/hip_smoke.sh"


def smoke(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    env = {k: v for k, v in os.environ.items() if not k.startswith(("GPUDX_", "HIP_", "LD_"))}
    env |= {"VENV": str(Path(sys.executable).parents[1])} | environment
    return subprocess.run(
        [str(SCRIPT), *words], env=env, cwd="/", capture_output=True, text=True, check=False, timeout=900
    )


@pytest.mark.skipif(DEVICE.exists(), reason="there is an AMD device")
def test_without_a_device_it_says_so_in_one_sentence() -> None:
    done = smoke()
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1 and str(DEVICE) in done.stderr


def test_without_an_environment_it_names_the_next_step(tmp_path: Path) -> None:
    need_hipcc()
    done = smoke(GPUDX_HIP_SMOKE_SIMULATED="1", VENV=str(tmp_path))
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1 and "make .venv/installed" in done.stderr


@pytest.mark.slow
def test_the_results_of_tests_and_demos_are_packed(tmp_path: Path) -> None:
    need_hipcc()
    result = tmp_path / "result.tar.gz"
    settings = {"GPUDX_HIP_SMOKE_SIMULATED": "1", "GPUDX_HIP_SMOKE_TESTS": "tests/hip/test_hip_doctor.py"}
    done = smoke(str(result), **settings)
    assert done.returncode == 0 and str(result) in done.stdout, done.stderr
    assert re.search(r"tests: \d+ passed", done.stderr) and "demos as expected: 4 of 4" in done.stderr
    with tarfile.open(result) as packed:
        texts = {
            member.name.removeprefix("gpudx-hip/"): packed.extractfile(member).read().decode(errors="replace")  # type: ignore[union-attr]
            for member in packed.getmembers()
            if member.name.endswith(".txt")
        }
    assert " passed" in texts["tests.txt"] and "exit status 0" in texts["tests.txt"]
    demos = {name: text for name, text in texts.items() if name.startswith("demos/")}
    assert len(demos) >= 4 and all("exit status 0" in text and "as expected" in text for text in demos.values())
    assert "HIP runtime" in texts["doctor.txt"] and "HIP version" in texts["hipcc.txt"]
