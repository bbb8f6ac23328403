"""gpudx show: filters over plain rows."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from gpudx.cli import show
from gpudx.cli.show import What
from gpudx.errors import UserError

COLUMNS = ["number", "thread", "call", "kernel", "status"]
ROWS = [
    (1, 10, "clCreateKernel", "restore_q4_0", ""),
    (2, 10, "clSetKernelArg", "restore_q4_0", "CL_INVALID_ARG_SIZE"),
    (3, 11, "clSetKernelArg", "set_rows", "CL_SUCCESS"),
    (4, 11, "clFinish", None, "in flight"),
]


@pytest.fixture(autouse=True)
def analysis(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> SimpleNamespace:
    """Traces, facts and tables as `show` expects them."""
    state = SimpleNamespace(traces=[SimpleNamespace(pid=100)], columns=COLUMNS, rows=ROWS)
    trace, facts, tables = ModuleType("gpudx.trace"), ModuleType("gpudx.facts"), ModuleType("gpudx.facts.tables")
    trace.open_case = lambda directory: state.traces  # type: ignore[attr-defined]
    facts.derive = lambda one: one  # type: ignore[attr-defined]
    tables.table = lambda one, name: (state.columns, iter(state.rows))  # type: ignore[attr-defined]
    for module in (trace, facts, tables):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    return state


def shown(capsys: pytest.CaptureFixture[str], place: Path, **options: Any) -> list[str]:
    """The numbers of the rows that are shown."""
    show.command(place, What.calls, as_csv=True, **options)
    return [row["number"] for row in csv.DictReader(io.StringIO(capsys.readouterr().out))]


@pytest.mark.parametrize(
    ("options", "numbers"),
    [
        ({}, "1234"),
        ({"kernel": "RESTORE*"}, "12"),
        ({"kernel": "*"}, "1234"),
        ({"call": "clSet*", "thread": 11}, "3"),
        ({"pid": 100}, "1234"),
        ({"pid": 1}, ""),
        ({"status": "CL_INVALID*"}, "2"),
        ({"failed": True}, "24"),
        ({"first": 2}, "12"),
        ({"last": 2}, "34"),
        ({"call": "clSet*", "last": 1}, "3"),
    ],
)
def test_filters(capsys: pytest.CaptureFixture[str], tmp_path: Path, options: dict[str, Any], numbers: str) -> None:
    assert shown(capsys, tmp_path, **options) == list(numbers)


def test_a_table(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    show.command(tmp_path, What.calls)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "pid  number  thread  call            kernel        status"
    assert lines[2] == "100  2       10      clSetKernelArg  restore_q4_0  CL_INVALID_ARG_SIZE"


def test_an_empty_table(capsys: pytest.CaptureFixture[str], tmp_path: Path, analysis: SimpleNamespace) -> None:
    analysis.rows = []
    show.command(tmp_path, What.errors)
    assert capsys.readouterr().out.splitlines() == ["pid  number  thread  call  kernel  status"]


def test_several_processes(capsys: pytest.CaptureFixture[str], tmp_path: Path, analysis: SimpleNamespace) -> None:
    analysis.traces = [SimpleNamespace(pid=100), SimpleNamespace(pid=200)]
    assert shown(capsys, tmp_path, pid=200) == list("1234")
    assert shown(capsys, tmp_path) == list("12341234")
    analysis.columns, analysis.rows = ["pid", "number"], [(7, 1)]
    assert shown(capsys, tmp_path, pid=7) == ["1", "1"]


def test_many_rows_are_not_poured_out(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, analysis: SimpleNamespace
) -> None:
    analysis.rows = [(i, 1, "c", "k", "") for i in range(1000)]
    show.command(tmp_path, What.calls)
    said = capsys.readouterr()
    assert len(said.out.splitlines()) == 101
    assert "more rows" in said.err
    show.command(tmp_path, What.calls, first=500)
    said = capsys.readouterr()
    assert len(said.out.splitlines()) == 501 and said.err == ""


def test_hostile_names(capsys: pytest.CaptureFixture[str], tmp_path: Path, analysis: SimpleNamespace) -> None:
    analysis.rows = [(1, 1, "c", "k\x1b[2J\n" + "x" * 500, "")]
    show.command(tmp_path, What.calls)
    table = capsys.readouterr().out
    assert "\x1b" not in table and len(table.splitlines()) == 2 and "characters)" in table
    show.command(tmp_path, What.calls, as_csv=True)
    rows: Iterable[list[str]] = csv.reader(io.StringIO(capsys.readouterr().out))
    assert list(rows)[1][4] == "k\\x1b[2J\\x0a" + "x" * 500


@pytest.mark.parametrize(
    ("folders", "opened"),
    [
        (("runs/001-recorded/traces", "runs/002-checked/traces"), "runs/001-recorded"),
        (("runs/001-recorded", "runs/002-checked/traces"), "runs/002-checked"),
        (("traces", "runs/001-recorded/traces"), ""),
        (("runs/001-recorded",), ""),
    ],
)
def test_case_of_an_investigation_shows_its_first_recorded_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folders: tuple[str, ...], opened: str
) -> None:
    asked = []
    monkeypatch.setattr(sys.modules["gpudx.trace"], "open_case", lambda place: asked.append(place) or [SimpleNamespace(pid=1)])
    for folder in folders:
        (tmp_path / folder).mkdir(parents=True)
    show.load(tmp_path, "errors")
    assert asked == [tmp_path / opened]


def test_wrong_use(tmp_path: Path, analysis: SimpleNamespace) -> None:
    with pytest.raises(UserError, match="exclude each other"):
        show.command(tmp_path, What.calls, first=1, last=1)
    with pytest.raises(UserError, match="no case at"):
        show.command(tmp_path / "gone", What.calls)
    analysis.columns = ["name", "bytes"]
    with pytest.raises(UserError, match="no kernel: leave --kernel out; it has pid, name, bytes"):
        show.command(tmp_path, What.allocations, kernel="x")
    with pytest.raises(UserError, match="no status: leave --failed out"):
        show.command(tmp_path, What.allocations, failed=True)
    analysis.traces = []
    with pytest.raises(UserError, match="no GPU API call was seen"):
        show.command(tmp_path, What.calls)
