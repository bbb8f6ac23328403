"""Small programs, repositories and runs for the tests of who ran."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from identity_kit import Git, Make

NAMES = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b"}


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Nothing of the user's own is read or written."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    return tmp_path / "cache"


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Compiles text into a program in a folder of its own; `age` is how many seconds ago it was built."""
    if not shutil.which("gcc"):
        pytest.skip("no gcc")

    def build(text: str, *flags: str, folder: str = "work", age: float = 0, compiler: str = "gcc") -> Path:
        place = tmp_path / folder
        place.mkdir(exist_ok=True)
        (place / "main.c").write_text(text)
        subprocess.run([compiler, *(flags or ("-g",)), "main.c", "-o", "app"], cwd=place, check=True)
        for name in ("main.c", "app"):
            when = os.stat(place / name).st_mtime - age
            os.utime(place / name, (when, when))
        return place / "app"

    return build


@pytest.fixture
def git() -> Git:
    if not shutil.which("git"):
        pytest.skip("no git")

    def run(where: Path, *words: str, date: float | None = None) -> str:
        when = (
            {}
            if date is None
            else {"GIT_COMMITTER_DATE": f"@{int(date)} +0000", "GIT_AUTHOR_DATE": f"@{int(date)} +0000"}
        )
        env = {**os.environ, **NAMES, **when}
        return subprocess.run(["git", *words], cwd=where, env=env, check=True, capture_output=True, text=True).stdout

    return run
