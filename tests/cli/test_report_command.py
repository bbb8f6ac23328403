"""gpudx report: a case in several forms."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from cli_kit import HERE, Gpudx
from sample_cases import FULL

from gpudx import casefile


@pytest.fixture
def case(tmp_path: Path) -> Path:
    place = tmp_path / "case"
    place.mkdir()
    casefile.write(FULL, place)
    return place


def test_forms(gpudx_cli: Gpudx, case: Path) -> None:
    assert gpudx_cli("report", "case").stdout.startswith("gpudx: CONFIRMED value-is-not-a-handle\n")
    assert gpudx_cli("report", "case/case.json", "-f", "markdown").stdout.startswith("# gpudx: CONFIRMED")
    assert json.loads(gpudx_cli("report", "case", "--format", "json").stdout)["schema"] == "gpudx.case/1"
    wrong = gpudx_cli("report", "case", "--format", "pdf")
    assert wrong.returncode == 2 and "choose one of" in wrong.stderr


def test_languages(gpudx_cli: Gpudx, case: Path) -> None:
    """The option, the variable, and what there is not; an option beats the variable."""
    assert gpudx_cli("report", "case", "--lang", "ko").stdout.startswith("gpudx: 확정 value-is-not-a-handle\n")
    assert gpudx_cli("report", "case", GPUDX_LANG="es_ES.UTF-8").stdout.startswith("gpudx: CONFIRMADO")
    assert gpudx_cli("report", "case", "--lang", "en", GPUDX_LANG="es").stdout.startswith("gpudx: CONFIRMED")
    wrong = gpudx_cli("report", "case", "--lang", "tlh")
    assert wrong.returncode == 2 and "choose one of en, es, ko" in wrong.stderr


def test_html(gpudx_cli: Gpudx, case: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    assert gpudx_cli("report", "case", "-f", "html", "-o", "out/r.html").returncode == 0
    text = (tmp_path / "out/r.html").read_text()
    assert text.startswith("<!doctype html>") and 'href="./../case/case.json"' in text


@pytest.mark.parametrize("format", ["terminal", "markdown", "html", "json"])
def test_redacted(gpudx_cli: Gpudx, case: Path, format: str) -> None:
    casefile.write(replace(FULL, command=("./app", "--token", "hunter22"), not_checked=("/home/jane/x",)), case)
    said = gpudx_cli("report", "case", "-f", format, "--redact").stdout
    assert "hunter22" not in said and "jane" not in said and "./../case" not in said
    assert "hunter22" in gpudx_cli("report", "case", "-f", format).stdout


def test_a_case_that_was_moved(gpudx_cli: Gpudx, case: Path, tmp_path: Path) -> None:
    shutil.move(case, tmp_path / "elsewhere")
    assert "Case\n  elsewhere\n" in gpudx_cli("report", "elsewhere").stdout


def test_output_files(gpudx_cli: Gpudx, case: Path, tmp_path: Path) -> None:
    done = gpudx_cli("report", "case", "-f", "markdown", "-o", "report.md")
    assert (done.returncode, done.stdout) == (0, "")
    assert (tmp_path / "report.md").read_text().startswith("# gpudx")
    wrong = gpudx_cli("report", "case", "-o", "no/such/folder/x")
    assert wrong.returncode == 2 and "-o FILE" in wrong.stderr


@pytest.mark.parametrize(
    ("content", "says"),
    [(None, "no case at"), ("{", "ends in the middle"), ('{"schema": "gpudx.case/9"}', "newer gpudx")],
)
def test_no_case(gpudx_cli: Gpudx, tmp_path: Path, content: str | None, says: str) -> None:
    (tmp_path / "case").mkdir()
    if content is not None:
        (tmp_path / "case/case.json").write_text(content)
    done = gpudx_cli("report", "case")
    assert done.returncode == 2
    assert says in done.stderr and done.stderr.count("\n") == 1


def test_a_terminal_that_knows_only_ascii(environment: dict[str, str], case: Path) -> None:
    casefile.write(replace(FULL, not_checked=("naïve 名前",)), case)
    env = environment | {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "LC_ALL": "C"}  # read when an interpreter starts
    words = [sys.executable, "-m", "gpudx", "report", str(case)]
    done = subprocess.run(words, env=env, capture_output=True, text=True)
    assert done.returncode == 0
    assert "na\\xefve" in done.stdout


def test_a_reader_that_leaves(environment: dict[str, str], case: Path, tmp_path: Path) -> None:
    words = f"{sys.executable} {HERE / 'stand_in.py'} report case | true"
    done = subprocess.run(["sh", "-c", words], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert "Traceback" not in done.stderr


def test_a_format_that_is_no_text(gpudx_cli: Gpudx, case: Path, tmp_path: Path) -> None:
    done = gpudx_cli("report", "case", "-f", "perfetto", "-o", "trace")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert (tmp_path / "trace").read_bytes()[:1] == b"\n"  # the tag of a packet
    wrong = gpudx_cli("report", "case", "-f", "perfetto", "-o", "no/such/folder/x")
    assert wrong.returncode == 2 and "-o FILE" in wrong.stderr and wrong.stderr.count("\n") == 1
