"""gpudx explain: logs in, a report or a case out."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from cli_kit import HERE, Gpudx

from gpudx import casefile

LOG = "step 1\nRuntimeError: CUDA error: an illegal memory access was encountered\nAborted (core dumped)\n"


def test_a_report_and_a_case(gpudx_cli: Gpudx, tmp_path: Path) -> None:
    (tmp_path / "crash.log").write_text(LOG)
    done = gpudx_cli("explain", "crash.log", "--case", "told")
    assert done.returncode == 0 and not done.stderr
    assert done.stdout.startswith("gpudx: INCONCLUSIVE device-error-reported\n")
    assert "This would settle it: gpudx run --serialise --stacks -- ./app" in done.stdout
    assert casefile.read(tmp_path / "told").findings[0].id == "log-illegal-address"
    for name in ("terminal", "markdown", "json"):
        assert gpudx_cli("report", "told", "-f", name).returncode == 0
    assert json.loads(gpudx_cli("explain", "crash.log", "-f", "json").stdout)["outcome"]["kind"] == "not started"


def test_standard_input(environment: dict[str, str], tmp_path: Path) -> None:
    command = [sys.executable, str(HERE / "stand_in.py"), "explain", "-"]
    done = subprocess.run(command, input=LOG, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert "line 2 of standard input" in done.stdout.replace("\n    ", " ")


def test_nothing_is_recognised(gpudx_cli: Gpudx, tmp_path: Path) -> None:
    (tmp_path / "poem.txt").write_text("roses are red\n")
    done = gpudx_cli("explain", "poem.txt")
    assert done.returncode == 1
    assert done.stdout.startswith("gpudx: NOTHING RECOGNISED\n") and "what is known to gpudx:" in done.stdout


def test_what_cannot_be_read(gpudx_cli: Gpudx, tmp_path: Path) -> None:
    assert "cannot read missing.log" in gpudx_cli("explain", "missing.log").stderr
    assert "is a directory" in gpudx_cli("explain", ".").stderr


def test_help_has_examples(gpudx_cli: Gpudx) -> None:
    assert "dmesg | gpudx explain -" in gpudx_cli("explain", "--help").stdout
