"""The roll: whole records are read, torn ones are counted."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpudx.lab.roll import MAGIC, RECORD, Roll, RollEntry, parse, read


def record(kind: int = 1, pid: int = 10, path: bytes = b"/bin/app", spare: int = 0) -> bytes:
    return RECORD.pack(MAGIC, kind, pid, pid - 1, spare, 1000 + pid, path)


def test_records_are_512_bytes() -> None:
    assert RECORD.size == 512


def test_a_missing_roll_is_empty(tmp_path: Path) -> None:
    assert read(tmp_path / "roll") == Roll()


def test_records(tmp_path: Path) -> None:
    (tmp_path / "roll").write_bytes(record() + record(2, 11, b"/bin/caf\xe9", 1) + record(9, 12))
    assert read(tmp_path / "roll") == Roll(
        (
            RollEntry(1, 10, 9, 1010, "/bin/app"),
            RollEntry(2, 11, 10, 1011, "/bin/caf\udce9", True),
            RollEntry(9, 12, 11, 1012, "/bin/app"),
        )
    )


def test_a_start_that_failed_is_taken_back() -> None:
    tried = record(2, 11, b"/usr/local/bin/tool") + record(6, 11, b"/usr/local/bin/tool")
    found = parse(record(2, 10, b"/bin/other") + tried + record(2, 11, b"/usr/bin/tool"))
    assert [(e.pid, e.path) for e in found.entries] == [(10, "/bin/other"), (11, "/usr/bin/tool")]


def test_an_end_has_its_status() -> None:
    (entry,) = parse(record(5, spare=1)).entries
    assert entry.status == 1 and not entry.spawns


@pytest.mark.parametrize("size", [1, 7, 8, 100, 511])
def test_a_torn_end(size: int) -> None:
    roll = parse(record() + record(pid=11)[:size])
    assert [entry.pid for entry in roll.entries] == [10]
    assert roll.torn == 1


@pytest.mark.parametrize("size", [1, 7, 8, 100, 511])
def test_a_torn_record_costs_no_other(size: int) -> None:
    roll = parse(record(pid=11)[:size] + record() + record(pid=12))
    assert [entry.pid for entry in roll.entries] == [10, 12]
    assert roll.torn == 1


def test_a_path_may_hold_the_magic() -> None:
    odd = record(path=b"/home/gpudxrol/app")
    assert [entry.path for entry in parse(odd + odd).entries] == ["/home/gpudxrol/app"] * 2


def test_rubbish() -> None:
    assert parse(b"x" * 2000) == Roll((), 1)
    assert parse(b"") == Roll()
