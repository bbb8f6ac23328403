"""gpudx cases: what every gpudx run added to the list."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from cli_kit import Gpudx


def test_runs_are_listed(gpudx_cli: Gpudx, tmp_path: Path) -> None:
    where = {"GPUDX_CASES": "", "XDG_DATA_HOME": str(tmp_path / "data")}
    assert gpudx_cli("cases", **where).returncode == 2
    for name, finds in (("a", "error confirmed"), ("b", "error confirmed"), ("c", "")):
        gpudx_cli("run", "--case", name, "--", "true", finds=finds, **where)
    table = gpudx_cli("cases", **where)
    assert table.returncode == 0
    assert "CONFIRMED some-cause" in table.stdout and len(table.stdout.splitlines()) == 3
    groups = {one["verdict"]: one for one in json.loads(gpudx_cli("cases", "--json", **where).stdout)}
    found = groups["CONFIRMED some-cause"]
    assert found["count"] == 2 and found["directory"] == str(tmp_path / "b")
    listed = gpudx_cli("cases", found["fingerprint"], "--db", str(tmp_path / "data/gpudx/cases.db"))
    assert len(listed.stdout.splitlines()) == 3
    assert gpudx_cli("cases", "9:", **where).returncode == 1


def test_a_list_that_cannot_be_written_fails_nothing(gpudx_cli: Gpudx, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    where = {"GPUDX_CASES": str(tmp_path / "file/cases.db")}
    done = gpudx_cli("run", "--", "sh", "-c", "exit 3", finds="confirmed", **where)
    assert done.returncode == 3
    assert done.stderr.count("not added to the list of cases") == 1
    assert gpudx_cli("run", "-q", "--", "true", **where).stderr == ""


def test_cases_that_are_gone_are_hidden_and_pruned(gpudx_cli: Gpudx, tmp_path: Path) -> None:
    where = {"GPUDX_CASES": "", "XDG_DATA_HOME": str(tmp_path / "data")}
    for name, finds in (("kept", "error confirmed"), ("lost-later", "error confirmed"), ("lost", "")):
        gpudx_cli("run", "--case", name, "--", "true", finds=finds, **where)
    for name in ("lost", "lost-later"):
        shutil.rmtree(tmp_path / name)
    listed = gpudx_cli("cases", **where).stdout
    assert "kept" in listed and "lost" not in listed and "true" in listed and " ago" in listed
    assert "lost" in gpudx_cli("cases", "--all", **where).stdout
    assert "removed 2 cases" in gpudx_cli("cases", "prune", **where).stdout
    assert "lost" not in gpudx_cli("cases", "--all", **where).stdout
    assert "deleted 0 case directories" in gpudx_cli("cases", "prune", "--older-than", "9999w", **where).stdout
    assert (tmp_path / "kept/case.json").exists()
    assert "deleted 1 case directory" in gpudx_cli("cases", "prune", "--older-than", "1d", **where).stdout
    assert not (tmp_path / "kept").exists()
    empty = gpudx_cli("cases", **where)
    assert empty.returncode == 1 and "`gpudx run -- CMD` records one" in empty.stderr
    wrong = gpudx_cli("cases", "prune", "--older-than", "soon", **where)
    assert wrong.returncode == 2 and "30d" in wrong.stderr


def test_the_latest_case(gpudx_cli: Gpudx, tmp_path: Path) -> None:
    where = {"GPUDX_CASES": "", "XDG_DATA_HOME": str(tmp_path / "data")}
    none = gpudx_cli("report", **where)
    assert none.returncode == 2 and "gpudx run -- CMD" in none.stderr
    gpudx_cli("run", "--case", "first", "--", "true", finds="error confirmed", **where)
    assert "CONFIRMED some-cause" in gpudx_cli("report", **where).stdout
    gpudx_cli("run", "--", "true", **where)
    assert "NO FAULT FOUND" in gpudx_cli("report", **where).stdout
