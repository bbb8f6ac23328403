"""gpudx bundle and gpudx open."""

from __future__ import annotations

import json
from pathlib import Path

from cli_kit import Gpudx
from sample_cases import FULL

from gpudx import casefile


def test_bundle_open_report(gpudx_cli: Gpudx, tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    casefile.write(FULL, tmp_path / "one")
    assert gpudx_cli("bundle", "one").stdout == "one.gpudx.zip\n"
    opened = gpudx_cli("open", "one.gpudx.zip")
    assert opened.returncode == 0 and Path(opened.stdout.strip()).parent == tmp_path / "gpudx-cases"
    assert "CONFIRMED value-is-not-a-handle" in gpudx_cli("report", opened.stdout.strip()).stdout
    assert gpudx_cli("open", "one.gpudx.zip", "-o", "there").stdout == f"{tmp_path}/there\n"
    again = gpudx_cli("bundle", "one")
    assert again.returncode == 2 and again.stderr.count("\n") == 1


def test_scripts_get_json(gpudx_cli: Gpudx, tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    casefile.write(FULL, tmp_path / "one")
    assert json.loads(gpudx_cli("bundle", "one", "--json").stdout) == {"bundle": "one.gpudx.zip", "left_out": []}
    opened = gpudx_cli("open", "one.gpudx.zip", "-o", "there", "--json")
    assert json.loads(opened.stdout) == {"case": f"{tmp_path}/there"}


def test_refused(gpudx_cli: Gpudx, tmp_path: Path) -> None:
    (tmp_path / "bad.zip").write_text("no")
    done = gpudx_cli("open", "bad.zip", "-o", "there")
    assert done.returncode == 2 and "was refused" in done.stderr and done.stderr.count("\n") == 1
    assert not (tmp_path / "there").exists()
    assert gpudx_cli("bundle", "nowhere").returncode == 2
    assert "not a size" in gpudx_cli("open", "bad.zip", "--most", "x").stderr
