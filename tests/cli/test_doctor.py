"""gpudx doctor: honest about what is here and what is not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from cli_kit import Gpudx

from gpudx import native
from gpudx.backends import opencl
from gpudx.cli import doctor, page
from gpudx.cli.doctor import coverage_lines
from gpudx.errors import UserError
from gpudx.report import Page


def test_the_table(gpudx_cli: Gpudx, recorder: Path) -> None:
    done = gpudx_cli("doctor")
    assert done.returncode == 0, done.stderr
    assert f"recorder            found       0.1.0 {recorder}" in done.stdout
    assert "self-test: loaded into a test process" in done.stdout
    for name in (
        "Python",
        "C compiler",
        "OpenCL loader",
        "OpenCL devices",
        "kernel checks",
        "NVIDIA driver",
        "compute-sanitizer",
        "hipcc",
    ):
        assert f"\n{name}" in f"\n{done.stdout}"
    for line in done.stdout.splitlines():
        assert line[:1] == " " or line[20:29].strip() in ("found", "not found", "broken")


def test_what_is_missing_says_how_to_get_it(gpudx_cli: Gpudx) -> None:
    done = gpudx_cli("doctor", PATH="/nowhere", CC="")
    assert "C compiler          not found" in done.stdout
    assert "to install: apt install oclgrind" in done.stdout
    assert "pip install nvidia-cuda-sanitizer-api" in done.stdout


def test_lines_fit_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(page, "page_here", lambda: Page(80))
    head = f"{'OpenCL loader':<18}  {'found':<10}  "
    lines = doctor._wrapped(head, f"/srv/{'folder/' * 12}libOpenCL.so.1 supports layers, and calls of it are recorded")
    assert all(len(line) <= 80 for line in lines) and lines[0].startswith(f"{head}.../folder/") and "libOpenCL.so.1" in lines[0]
    assert doctor._wrapped(head, "finds faults; to install: pip install a b c d e f g h i")[-1].endswith("pip install a b c d e f g h i")


def test_without_libclang_the_row_names_the_package(tmp_path: Path) -> None:
    """In a process of its own: this one may have imported it."""
    (tmp_path / "clang").mkdir()
    (tmp_path / "clang/__init__.py").write_text("raise ImportError")
    paths = f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}"
    probe = Path(opencl.__file__).with_name("probe_libclang.py")
    done = subprocess.run([sys.executable, "-P", probe], env=os.environ | {"PYTHONPATH": paths}, capture_output=True)
    assert done.returncode == 3
    row = next(one for one in opencl.TOOLS if one.probe == probe)
    assert row.install == "pip install 'gpudx[opencl]'"


def test_a_recorder_that_does_not_load(gpudx_cli: Gpudx, tmp_path: Path) -> None:
    (tmp_path / "lib.so").write_text("no library")
    done = gpudx_cli("doctor", GPUDX_LIB=str(tmp_path / "lib.so"))
    assert done.returncode == 1
    assert "recorder            broken" in done.stdout and "without the recorder" in done.stdout
    done = gpudx_cli("doctor", GPUDX_LIB="/no/lib.so")
    assert done.returncode == 1
    assert "recorder            not found" in done.stdout


def test_coverage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = [
        {"name": "note_device", "api": "note", "does": ""},
        {"name": "clFinish", "api": "opencl", "does": "wait"},
        {"name": "clOld", "api": "opencl", "does": "", "skip": "Windows only"},
    ]
    (tmp_path / "schema.json").write_text(json.dumps({"calls": calls}))
    monkeypatch.setattr(native, "PACKAGED", tmp_path)
    lines = list(coverage_lines())
    assert lines[1] == "1 of 2 API calls are recorded"
    assert lines[2].split() == ["clFinish", "recorded", "(wait)"]
    assert lines[3].endswith("not recorded: Windows only")
    (tmp_path / "schema.json").write_text("[]")
    with pytest.raises(UserError, match="reinstall"):
        list(coverage_lines())
    (tmp_path / "schema.json").unlink()
    with pytest.raises(UserError, match="reinstall"):
        list(coverage_lines())
