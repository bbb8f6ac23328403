"""What `gpudx doctor` says of a HIP runtime, by its version."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hip_kit import Kit
from support.own import PYTHONPATH

from gpudx.backends.hip import probe_runtime


@pytest.mark.parametrize(
    ("version", "words"), [((5, 2), "red zones"), ((6, 4), "virtual memory"), ((7, 2), "libraries"), ((10, 0), "libraries")]
)
def test_each_version_has_its_line(version: tuple[int, int], words: str) -> None:
    (line,) = probe_runtime.expectations(*version, [])
    assert words in line


def test_a_newer_version_and_unknown_functions_are_named() -> None:
    newer, expected, missing = probe_runtime.expectations(11, 0, [f"hipNew{n}" for n in range(9)])
    assert "newer than HIP 10.0" in newer and expected.startswith("HIP 11")
    assert "hipNew0" in missing and "and 3 more are not recorded" in missing


def test_the_newest_runtime_of_a_folder_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "lib").mkdir()
    for name in ("libamdhip64.so.7", "libamdhip64.so.10", "libamdhip64.so.7.1.25", "libamdhip64.so"):
        (tmp_path / "lib" / name).touch()
    monkeypatch.setenv("ROCM_PATH", str(tmp_path))
    own = [name for name in probe_runtime.found() if name.startswith(str(tmp_path))]
    assert own == [str(tmp_path / "lib" / name) for name in ("libamdhip64.so.10", "libamdhip64.so.7")]


@pytest.mark.parametrize(("shape", "fence"), [("5", "red zones"), ("7", "pages")])
def test_the_probe_reads_a_runtime(kit: Kit, shape: str, fence: str) -> None:
    library = kit.runtime(shape)
    env = dict(os.environ) | {"LD_LIBRARY_PATH": str(library.parent), "PYTHONPATH": PYTHONPATH}
    command = [sys.executable, "-P", str(Path(probe_runtime.__file__))]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=60)
    first, expected, *_ = done.stdout.splitlines()
    assert first.startswith(library.name) and f"--fence: {fence}" in first and expected.startswith(f"HIP {shape}")
