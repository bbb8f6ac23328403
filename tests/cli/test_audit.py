"""gpudx audit: files of device code in, a report or a case out. The code object here is made by hand."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from cli_kit import Gpudx

from gpudx import casefile

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "evidence"))

from code_kit import bundle, code_object, kernel, metadata


@pytest.fixture
def bundled(tmp_path: Path) -> Path:
    spilling = kernel("_Z5scalePfi", vgpr_spill_count=20, private_segment_fixed_size=80, group_segment_fixed_size=1024)
    path = tmp_path / "kernels.hipfb"
    path.write_bytes(bundle([("gfx90a", code_object(metadata([spilling])))]))
    return path


def test_a_report_and_a_case(gpudx_cli: Gpudx, tmp_path: Path, bundled: Path) -> None:
    done = gpudx_cli("audit", bundled.name, "--case", "audited")
    assert done.returncode == 0 and not done.stderr
    assert done.stdout.startswith("gpudx: PROBLEMS FOUND\n  Kernel scale (gfx90a) has more values than registers")
    assert [line.split() for line in done.stdout.splitlines() if line.startswith("  scale ")] == [
        ["scale", "gfx90a", "9", "80", "80", "1,024", "8", "of", "8", "waves", "64"]
    ]
    read = casefile.read(tmp_path / "audited")
    assert read.kernels[0].build.mangled == "_Z5scalePfi" and read.findings[0].id == "kernel-spills"
    assert (
        "kernels.hipfb (offload bundle) holds 1 image of AMD device code with 1 kernel, for gfx90a (code object v4)."
        in read.outcome.summary
    )
    for name in ("terminal", "markdown", "json"):
        shown = gpudx_cli("report", "audited", "-f", name)
        assert shown.returncode == 0 and "scale" in shown.stdout
    assert json.loads(gpudx_cli("audit", bundled.name, "--json").stdout)["kernels"][0]["build"]["spill_stores"] == 80


def test_targets_that_it_must_run_on(gpudx_cli: Gpudx, bundled: Path) -> None:
    assert gpudx_cli("audit", bundled.name, "--arch", "gfx90a").returncode == 0
    done = gpudx_cli("audit", bundled.name, "--arch", "gfx90a", "--arch", "sm_90")
    assert done.returncode == 1 and "Nothing in kernels.hipfb runs on sm_90: it has code for gfx90a" in done.stdout
    assert "is not an architecture" in gpudx_cli("audit", bundled.name, "--arch", "hopper").stderr


def test_nothing_to_audit(gpudx_cli: Gpudx, tmp_path: Path) -> None:
    (tmp_path / "poem.txt").write_text("roses are red\n")
    assert "there is nothing to audit" in gpudx_cli("audit", "poem.txt").stderr
    assert "cannot be read (No such file or directory)" in gpudx_cli("audit", "missing").stderr
    done = gpudx_cli("audit", sys.executable)
    assert done.returncode == 1 and "holds no device code." in done.stdout


def test_what_cannot_be_read_is_said(gpudx_cli: Gpudx, tmp_path: Path, bundled: Path) -> None:
    (tmp_path / "cut.hipfb").write_bytes(bundled.read_bytes()[:300])
    done = gpudx_cli("audit", "cut.hipfb")
    assert "Not checked" in done.stdout and "is damaged or cut off: an entry lies outside of it." in " ".join(
        done.stdout.split()
    )


def test_help_has_examples(gpudx_cli: Gpudx) -> None:
    assert "gpudx audit ./app --arch sm_90" in gpudx_cli("audit", "--help").stdout
