"""The same CUDA programs on a real GPU: twins and correct programs compute what they should, recorded or not, unaccused.

What a planted bug computes there is left to chance, and whether it is told was judged on the fake driver: only that it
runs, and that the recorder does not change how it ends, where chance does not decide.
"""

from __future__ import annotations

import re
import subprocess

import pytest
from cases import CASES, CORRECT
from order_kit import Kit, Stage, make_stage
from test_planted import matters, spoken

pytestmark = pytest.mark.gpu
MODES = [(case.program, case.mode) for case in CASES if case.api == "cuda"] + [
    (program, mode) for program, mode in CORRECT if program.startswith("cuda")
]
FAULTS = {"plain-free": {(1, "cuCtxSynchronize(): 700\n")}}  # memory that went while a kernel used it


def real_driver() -> str | None:
    """Where the vendor's driver is, if there is a device for it."""
    try:
        listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=False).stdout
        known = subprocess.run(["ldconfig", "-p"], capture_output=True, text=True, check=False).stdout
    except FileNotFoundError:
        return None
    found = re.search(r"libcuda\.so\.1 .*x86-64.* => (\S+)", known)
    return found[1] if found and "GPU 0" in listed else None


def kit_on_gpu(tmp_path_factory: pytest.TempPathFactory) -> Kit:
    driver = real_driver()
    if driver is None:
        pytest.skip("needs a CUDA GPU")
    kit, links = Kit(tmp_path_factory.mktemp("order")), tmp_path_factory.mktemp("driver")
    for name in ("libcuda.so", "libcuda.so.1"):
        (links / name).symlink_to(driver)
    kit.driver = links  # what programs are linked with and find first
    return kit


@pytest.fixture(scope="session")
def on_gpu(tmp_path_factory: pytest.TempPathFactory) -> Stage:
    return make_stage(kit_on_gpu(tmp_path_factory))


@pytest.mark.parametrize(("program", "mode"), MODES)
def test_twin_is_right_and_not_accused(on_gpu: Stage, program: str, mode: str) -> None:
    plain, recorded = (on_gpu(program, mode, "twin", recorded) for recorded in (False, True))
    assert (recorded.code, recorded.output) == (plain.code, plain.output) == (0, "right\n")
    assert not matters(recorded.findings), spoken(matters(recorded.findings))


@pytest.mark.parametrize(("program", "mode"), MODES)
def test_bug_ends_as_before(on_gpu: Stage, program: str, mode: str) -> None:
    plain, recorded = (on_gpu(program, mode, "bug", recorded) for recorded in (False, True))
    may = {(0, "done\n"), *FAULTS.get(mode, ())}
    assert (recorded.code, recorded.output) in may and (plain.code, plain.output) in may
