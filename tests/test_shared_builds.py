"""What workers share is made once, and what cannot be made is told alike to all who want it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from support.builds import Builds, once

TESTS = Path(__file__).resolve().parent
WORKER = """
import sys, time
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from support.builds import once
place = Path(sys.argv[2])

def make(target):
    with open(place.with_name("makers"), "a") as told:
        told.write("x")
    time.sleep(0.2)
    assert "broken" not in target.name, "it cannot be made"
    target.mkdir()
    (target / "whole").touch()

assert (once(place, make) / "whole").exists()
"""


def workers(place: Path) -> list[tuple[int, str]]:
    """Three at the same time: how each ended, and the last line it said."""
    command = [sys.executable, "-c", WORKER, str(TESTS), str(place)]
    begun = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(3)]
    said = [one.communicate(timeout=60)[1].strip() for one in begun]
    return [(one.returncode, text.splitlines()[-1] if text else "") for one, text in zip(begun, said, strict=True)]


def test_many_want_it_and_one_makes_it(tmp_path: Path) -> None:
    assert workers(tmp_path / "thing") == [(0, "")] * 3
    assert (tmp_path / "makers").read_text() == "x"


def test_what_cannot_be_made_is_tried_once_and_told_to_all(tmp_path: Path) -> None:
    assert workers(tmp_path / "broken") == [(1, "AssertionError: AssertionError: it cannot be made")] * 3
    assert (tmp_path / "makers").read_text() == "x"


def test_what_was_left_half_made_is_made_again(tmp_path: Path) -> None:
    def stopped(place: Path) -> None:
        place.mkdir()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        once(tmp_path / "thing", stopped)
    assert once(tmp_path / "thing", Path.mkdir).is_dir()


def test_other_flags_are_another_program(tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text("int main(void) { return STATUS; }\n")
    builds = Builds(tmp_path)
    three, four, again = (builds.built("a", "cc", f"-DSTATUS={n}", tmp_path / "a.c") for n in (3, 4, 3))
    assert three == again and [subprocess.run([one], check=False).returncode for one in (three, four)] == [3, 4]


def test_a_compiler_that_refuses_is_quoted(tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text("#error not like this\n")
    with pytest.raises(AssertionError, match="not like this"):
        Builds(tmp_path).built("a", "cc", tmp_path / "a.c")
