"""gpudx lint: lines like a compiler's, an exit status, a case."""

from __future__ import annotations

from pathlib import Path

from cli_kit import Gpudx

WRONG = "kernel void k() {\n barrier(0);\n}\n"


def test_lines_status_and_case(gpudx_cli: Gpudx, tmp_path: Path) -> None:
    (tmp_path / "k.cl").write_text(WRONG)
    done = gpudx_cli("lint", "k.cl", "--case", "linted")
    assert done.returncode == 1
    assert done.stdout.startswith("k.cl:2: warning: barrier(0) at k.cl:2 in k orders no memory")
    assert done.stdout.rstrip().endswith("[barrier-without-fence]")
    assert "barrier(0)" in gpudx_cli("report", "linted").stdout
    (tmp_path / "gpudx.toml").write_text('[gate]\nnew-findings = "base.json"\n')
    assert gpudx_cli("gate", "linted", "--write-baseline").returncode == 0


def test_nothing_found(gpudx_cli: Gpudx, tmp_path: Path) -> None:
    (tmp_path / "k.cl").write_text(WRONG.replace("barrier(0)", "barrier(FLAGS)"))
    assert gpudx_cli("lint", "k.cl").returncode == 0
    assert gpudx_cli("lint", "-D", "FLAGS=0", "k.cl").returncode == 1


def test_what_cannot_be_read(gpudx_cli: Gpudx) -> None:
    assert "missing.cl cannot be read" in gpudx_cli("lint", "missing.cl").stderr
    assert "gpudx lint kernels.cl host.c" in gpudx_cli("lint", "--help").stdout
