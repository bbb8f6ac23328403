"""The house is in order: style, types, the direction of dependencies, and who may know what."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent


def run(*command: str) -> None:
    environment = os.environ | {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT / 'tools'}"}
    result = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout[-6000:] + result.stderr[-2000:]


def test_style() -> None:
    run(str(BIN / "ruff"), "check", ".")


@pytest.mark.early
def test_types() -> None:
    run(str(BIN / "mypy"))


def test_direction_of_dependencies() -> None:
    run(str(BIN / "lint-imports"))


def test_only_the_lab_starts_processes() -> None:
    """subprocess, os.exec*, os.fork, os.spawn* and posix_spawn are used below gpudx.lab only."""
    words = ("import subprocess", "os.fork(", "os.posix_spawn", "os.execv", "os.system(", "multiprocessing")
    found = [
        f"{path.relative_to(ROOT)}: {word}"
        for path in (ROOT / "src" / "gpudx").rglob("*.py")
        if "lab" not in path.relative_to(ROOT / "src" / "gpudx").parts
        for word in words
        if word in path.read_text()
    ]
    assert not found


def test_only_backends_and_evidence_know_vendors() -> None:
    """No vendor's function or error names in the neutral parts."""
    neutral = ("model", "trace", "facts", "diagnose", "report")
    found = [
        f"{path.relative_to(ROOT)}: {word}"
        for part in neutral
        for path in (ROOT / "src" / "gpudx" / part).rglob("*.py")
        for word in ("CL_INVALID", "CUDA_ERROR", "hipError", "clEnqueue", "cuLaunch", "hipLaunch")
        if word in path.read_text()
    ]
    assert not found
