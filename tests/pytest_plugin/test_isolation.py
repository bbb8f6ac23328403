"""pytest --gpudx-isolate with the fake CUDA driver, in processes of their own: a broken context costs only the test that broke it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cuda"))
from cuda_kit import Kit

import gpudx

pytestmark = pytest.mark.builds
TESTS = """
import ctypes, os
driver = ctypes.CDLL("libcuda.so.1")
context, module, kernel = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
assert not driver.cuInit(0) and not driver.cuCtxCreate_v2(ctypes.byref(context), 0, 0)
assert not driver.cuModuleLoadData(ctypes.byref(module), b"kernel pair 4 4\\n")
assert not driver.cuModuleGetFunction(ctypes.byref(kernel), module, b"pair")

def launch():
    values = [ctypes.c_int(1), ctypes.c_int(2)]
    params = (ctypes.c_void_p * 2)(*(ctypes.addressof(value) for value in values))
    return driver.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, None, params, None)

def test_before():
    assert launch() == 0

def test_breaks():
    assert launch() == 0  # the second launch of a process faults behind its back

def test_after():
    assert launch() == 0
    print("in", os.getpid())

def test_breaks_again():
    assert launch() == 0

def test_fails():
    assert False, "on its own"

def test_last():
    assert launch() == 0
"""


@pytest.fixture(scope="session")
def driver(tmp_path_factory: pytest.TempPathFactory, shared: Path) -> Path:
    if not shutil.which("cc"):
        pytest.skip("no C compiler (cc) here")
    return Kit(tmp_path_factory.mktemp("cuda"), shared).driver


def run(folder: Path, driver: Path, *options: str, fault: bool = True, tests: str = TESTS) -> str:
    (folder / "test_gpu.py").write_text(tests)
    env = {
        **os.environ,
        "LD_LIBRARY_PATH": str(driver),
        "PYTHONPATH": str(Path(gpudx.__file__).parents[1]),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        **({"FAKE_CUDA_FAIL": "cuLaunchKernel:2:700"} if fault else {}),
    }
    words = [sys.executable, "-m", "pytest", "-p", "gpudx.pytest_plugin", "-p", "no:cacheprovider", "-v", *options, "test_gpu.py"]
    return subprocess.run(words, capture_output=True, text=True, env=env, cwd=folder, timeout=120, check=False).stdout


def outcomes(out: str) -> dict[str, str]:
    rows = [line.split() for line in out.splitlines() if line.startswith("test_gpu.py::")]
    return {row[0].partition("::")[2]: row[1] for row in rows}


def test_without_it_all_later_tests_fail(tmp_path: Path, driver: Path) -> None:
    found = outcomes(run(tmp_path, driver))
    assert [name for name, word in found.items() if word == "FAILED"] == ["test_after", "test_breaks_again", "test_fails", "test_last"]


def test_with_it_only_the_tests_own_failures_are_left(tmp_path: Path, driver: Path) -> None:
    out = run(tmp_path, driver, "--gpudx-isolate")
    found = outcomes(out)
    assert list(found) == ["test_before", "test_breaks", "test_after", "test_breaks_again", "test_fails", "test_last"]
    assert [name for name, word in found.items() if word == "FAILED"] == ["test_fails"]
    assert "on its own" in out
    assert "broken in or before test_gpu.py::test_breaks; 4 tests ran in 2 fresh processes" in out


def test_a_sound_context_changes_nothing(tmp_path: Path, driver: Path) -> None:
    out = run(tmp_path, driver, "--gpudx-isolate", fault=False)
    assert [name for name, word in outcomes(out).items() if word == "FAILED"] == ["test_fails"]
    assert "broken CUDA context" not in out


def test_a_test_that_kills_the_fresh_process(tmp_path: Path, driver: Path) -> None:
    dying = TESTS.replace("    assert launch() == 0\n    print", "    os.kill(os.getpid(), 9)\n    print")
    found = outcomes(run(tmp_path, driver, "--gpudx-isolate", tests=dying))
    assert [name for name, word in found.items() if word == "FAILED"] == ["test_after", "test_fails"]
