"""Is a program older than its sources? Only where that is sure: times of clones, checkouts and copies mean nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from identity_kit import DAY, EDITED, HELLO, HOUR, Git, Make, built_of


def why(program: Path) -> list[str]:
    return [source.why for source in built_of(program).newer]


def test_a_fresh_build_is_not_stale(make: Make) -> None:
    found = built_of(make(HELLO))
    assert found.sources == 1 and not found.newer
    assert "GNU C" in found.compilers[0] and "-g" in found.compilers[0]


def test_an_edit_after_the_build(make: Make) -> None:
    program = make(HELLO, age=DAY)
    (program.parent / "main.c").write_text(EDITED)
    assert why(program) == ["edited"] and built_of(program).stale


def test_an_edit_while_it_ran_says_nothing(make: Make) -> None:
    program = make(HELLO, age=DAY)
    (program.parent / "main.c").write_text(EDITED)
    assert not built_of(program, started=time.time() - HOUR).newer


def test_files_that_were_copied_together(make: Make) -> None:
    program = make(HELLO, age=DAY)
    text = '#include "other.h"\n' + HELLO
    (program.parent / "other.h").write_text("static inline int one(void) { return 1; }\n")
    (program.parent / "main.c").write_text(text.replace("return 0", "return one() - 1"))
    subprocess.run(["gcc", "-g", "main.c", "-o", "app"], cwd=program.parent, check=True)
    os.utime(program, (time.time() - DAY, time.time() - DAY))
    assert why(program) == ["copied", "copied"] and not built_of(program).stale


def test_a_fresh_clone_does_not_accuse(make: Make, git: Git, tmp_path: Path) -> None:
    """The committed program and its sources all get the time of the clone, in any order."""
    program = make(HELLO, age=DAY)
    git(program.parent, "init", "-q")
    git(program.parent, "add", "main.c")
    git(program.parent, "commit", "-qm", "one", date=time.time() - 2 * DAY)
    (program.parent / "main.c").touch()
    assert why(program) == ["checked out"] and not built_of(program).stale


def test_back_from_another_branch(make: Make, git: Git) -> None:
    program = make(HELLO, age=DAY)
    git(program.parent, "init", "-q", "-b", "main")
    git(program.parent, "add", "main.c")
    git(program.parent, "commit", "-qm", "one", date=time.time() - 2 * DAY)
    git(program.parent, "checkout", "-qb", "other")
    (program.parent / "main.c").write_text(EDITED)
    git(program.parent, "commit", "-qam", "two", date=time.time() - HOUR)
    git(program.parent, "checkout", "-q", "main")
    assert not built_of(program).stale


def test_a_commit_after_the_build_of_the_same_content(make: Make, git: Git) -> None:
    """Build, test, commit: the usual order. The files keep their times."""
    program = make(HELLO, age=DAY)
    git(program.parent, "init", "-q")
    git(program.parent, "add", "main.c")
    git(program.parent, "commit", "-qm", "one")
    assert not built_of(program).newer


def test_changes_that_are_not_committed(make: Make, git: Git) -> None:
    program = make(HELLO, age=DAY)
    git(program.parent, "init", "-q")
    git(program.parent, "add", "main.c")
    git(program.parent, "commit", "-qm", "one", date=time.time() - 2 * DAY)
    (program.parent / "main.c").write_text(EDITED)
    assert why(program) == ["edited"]


def test_a_commit_that_changed_it_since(make: Make, git: Git) -> None:
    program = make(HELLO, age=DAY)
    git(program.parent, "init", "-q")
    git(program.parent, "add", "main.c")
    git(program.parent, "commit", "-qm", "one", date=time.time() - 2 * DAY)
    (program.parent / "main.c").write_text(EDITED)
    git(program.parent, "commit", "-qam", "two", date=time.time() - HOUR)
    assert why(program) == ["committed"]


def test_a_shallow_clone_accuses_nobody(make: Make, git: Git, tmp_path: Path) -> None:
    program = make(HELLO, age=DAY)
    git(program.parent, "init", "-q")
    git(program.parent, "add", "main.c")
    git(program.parent, "commit", "-qm", "one", date=time.time() - 2 * DAY)
    git(program.parent, "commit", "-q", "--allow-empty", "-m", "two", date=time.time() - HOUR)
    git(tmp_path, "clone", "-q", "--depth=1", f"file://{program.parent}", "clone")
    shutil.rmtree(program.parent / ".git")
    (tmp_path / "clone/.git").rename(program.parent / ".git")
    (program.parent / "main.c").touch()
    assert why(program) == ["checked out"]


def test_without_git_nobody_is_accused_inside_a_repository(
    make: Make, git: Git, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = make(HELLO, age=DAY)
    git(program.parent, "init", "-q")
    (program.parent / "main.c").write_text(EDITED)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert why(program) == ["checked out"]


def test_a_stripped_program_says_nothing(make: Make) -> None:
    program = make(HELLO, "-g", "-s", age=DAY)
    (program.parent / "main.c").write_text(EDITED)
    assert built_of(program).sources == 0 and not built_of(program).newer


def test_times_that_make_no_sense(make: Make) -> None:
    """Reproducible builds set the time of all files to 1970 or 1980."""
    program = make(HELLO)
    os.utime(program, (1, 1))
    assert not built_of(program).newer


@pytest.fixture
def clang() -> str:
    found = next((name for name in ("clang", *(f"clang-{n}" for n in range(22, 12, -1))) if shutil.which(name)), "")
    if not found:
        pytest.skip("no clang, which keeps checksums of sources")
    return found


def test_another_checksum_is_a_proof(make: Make, clang: str) -> None:
    program = make(HELLO, "-gdwarf-5", compiler=clang)
    assert not built_of(program).newer
    (program.parent / "main.c").write_text(EDITED)
    assert why(program) == ["content"]


def test_the_same_checksum_clears_a_newer_file(make: Make, clang: str) -> None:
    program = make(HELLO, "-gdwarf-5", compiler=clang, age=DAY)
    (program.parent / "main.c").touch()
    assert not built_of(program).newer
