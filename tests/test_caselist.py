"""The list of cases: grouped by fingerprint, in SQLite and in a real PostgreSQL; no failure of it is one of a run."""

from __future__ import annotations

import os
import pwd
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent / "casefile"))
from sample_cases import DIAGNOSIS, FULL, PASSED

from gpudx.cases import index
from gpudx.errors import UserError
from gpudx.model import Case
from gpudx.model.fingerprint import fingerprint

HOSTILE = "\x1b[2J\x00<script>\udcff" + "k" * 100_000


def at(case: Case, day: int, directory: str | None = None) -> Case:
    return replace(case, created=f"2026-01-{day:02}T00:00:00+00:00", directory=directory or f"/cases/{day}")


def binary(name: str) -> str | None:
    places = [*Path("/usr/lib/postgresql").glob(f"*/bin/{name}")] if Path("/usr/lib/postgresql").is_dir() else []
    return shutil.which(name) or (str(places[-1]) if places else None)


@pytest.fixture(scope="module")
def postgres() -> Iterator[str]:
    """A server of its own, on a socket only; never as root, which PostgreSQL refuses."""
    pytest.importorskip("psycopg", reason="pip install 'gpudx[postgres]'")
    initdb, server = binary("initdb"), binary("postgres")
    if not initdb or not server:
        pytest.skip("no PostgreSQL here: apt-get install postgresql")
    user = "nobody" if os.geteuid() == 0 else None
    folder = Path(tempfile.mkdtemp(prefix="gpudx-pg-", dir="/tmp"))  # sockets want short paths
    if user:
        os.chown(folder, pwd.getpwnam(user).pw_uid, -1)
    data = folder / "data"
    options = {"user": user, "cwd": folder, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    subprocess.run([initdb, "-D", data, "-U", "gpudx", "-A", "trust", "-N"], check=True, **options)  # type: ignore[call-overload]
    command = [server, "-D", data, "-k", folder, "-c", "listen_addresses=", "-c", "fsync=off"]
    process = subprocess.Popen(command, **options)  # type: ignore[call-overload]
    try:
        url = f"postgresql://gpudx@/postgres?host={folder}"
        _wait(url)
        yield url
    finally:
        process.terminate()
        process.wait(30)
        shutil.rmtree(folder, ignore_errors=True)


def _wait(url: str) -> None:
    for _ in range(100):
        try:
            with index.opened(url):
                return
        except UserError:
            time.sleep(0.1)
    pytest.fail("PostgreSQL did not start")


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return str(tmp_path / "deep/er/cases.db")
    found: str = request.getfixturevalue("postgres")
    with index.opened(found) as store:
        store._connection.execute("drop table if exists gpudx_cases")
    return found


def test_groups_have_counts_and_the_words_of_the_last(url: str) -> None:
    later = replace(FULL, diagnosis=(replace(DIAGNOSIS, status="likely", summary="Newer words."),))
    for case in (at(FULL, 3), at(FULL, 1), at(later, 5), at(PASSED, 4), at(PASSED, 4)):
        assert index.remember(case, url) is None
    with index.opened(url) as store:
        first, second = index.groups(store.entries())
        cases = store.entries(fingerprint(FULL)[:6])
        assert store.entries("1:zzz") == []
    assert (first.count, first.first[:10], first.last[:10]) == (3, "2026-01-01", "2026-01-05")
    assert (first.fingerprint, first.summary, first.directory) == (fingerprint(FULL), "Newer words.", "/cases/5")
    assert (second.count, second.verdict) == (1, "NO FAULT FOUND")  # the same case twice is one
    assert [one.created[:10] for one in cases] == ["2026-01-05", "2026-01-03", "2026-01-01"]


def test_hostile_words(url: str) -> None:
    assert index.remember(replace(FULL, command=(HOSTILE,), directory="/c/" + HOSTILE[-300:]), url) is None
    with index.opened(url) as store:
        (one,) = store.entries()
    assert "\x1b" not in one.command and len(one.command) < 5000


def test_what_cannot_be_written_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index, "PATIENCE_S", 0.1)
    (tmp_path / "file").write_text("no database at all, and long enough to be looked at")
    (tmp_path / "folder").mkdir()
    held = sqlite3.connect(tmp_path / "held.db", isolation_level=None)
    held.execute("create table x (y)")
    held.execute("begin exclusive")
    wrong = ["file", "file/below", "folder", "held.db"]
    for name in [*wrong]:
        said = index.remember(FULL, str(tmp_path / name))
        assert said and "not added to the list of cases" in said and "\n" not in said, name
    held.close()
    said = index.remember(FULL, f"postgresql://u:secret@/x?host={tmp_path}")
    assert said and "secret" not in said


def test_where_it_is() -> None:
    assert index.default({"XDG_DATA_HOME": "/d"}) == "/d/gpudx/cases.db"
    assert index.default({"GPUDX_CASES": "none", "XDG_DATA_HOME": "/d"}) == "none"
    assert index.default({}).endswith("/.local/share/gpudx/cases.db")
    assert index.remember(FULL, "none") is None
    with pytest.raises(UserError, match="no list of cases"), index.opened("/nowhere/at/all"):
        pass
