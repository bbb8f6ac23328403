"""What a failing program printed last, for investigations that keep its output in a file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gpudx.lab.outcome import outcome
from gpudx.lab.recorded import RunResult
from gpudx.model.how import How


def run(output: Path | None, status: int = 1) -> RunResult:
    return RunResult(("app",), "app", 1, status, None, False, 0.1, Path("traces"), (), how=replace(How(), output=output))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"step 1\nmax error 3.5 at 17\n", "max error 3.5 at 17"),
        (b"app: job.txt: No such file or directory\nself test passed\n", "app: job.txt: No such file or directory"),
        (b"one\ntwo\n\n", "two"),
        (b"rows.cpp:40: 3 is not 4\n1 error generated.\n", "rows.cpp:40: 3 is not 4"),
        (b"2 rows are wrong\nrow 3: error 1.5e+02\nrow 4: error 7.25\n", "2 rows are wrong"),  # not one of many lines that are alike
        (b"row 3: error 1.5e+02\nrow 4: error 7.25\n", "row 4: error 7.25"),
        (b"".join(b"row %4d: error 7.25000\n" % row for row in range(1000)), "row  999: error 7.25000"),  # the first one read is cut off
        (b"row 3: error 1\nrow 4: error 2\nKeyError: 3\nKeyError: 4\n", "KeyError: 4"),  # how it ended
        (
            b'Traceback (most recent call last):\n  File "/home/me/job.py", line 7, in <module>\n    load()\n'
            b'  File "/usr/lib/python3/json/decoder.py", line 355, in raw_decode\n    raise\nKeyError: 3\n',
            "KeyError: 3 (job.py:7)",
        ),
        (b"terminate called after throwing an instance of 'std::invalid_argument'\n  what():  stoi\n", "std::invalid_argument: stoi"),
        (b"x" * 10_000, "x" * 160),
        (b"\xff\xfe\n", "\ufffd\ufffd"),
        (b"", ""),
    ],
)
def test_the_last_complaint_else_the_last_line(tmp_path: Path, text: bytes, said: str) -> None:
    (tmp_path / "output.txt").write_bytes(text)
    assert outcome(run(tmp_path / "output.txt")).said == said


@pytest.mark.parametrize(
    ("printed", "errors", "said"),
    [
        ("self test: passed\n", "option -o was not given\n", "option -o was not given"),
        ("checksum 17\n", "step 9: quota not reached\nbye\n", "step 9: quota not reached"),
        ("3 of 9 rows are wrong\n", "loading\nready\n", "3 of 9 rows are wrong"),
        ("3 of 9 rows are wrong\n", "", "3 of 9 rows are wrong"),
    ],
)
def test_what_it_wrote_to_stderr_comes_first(tmp_path: Path, printed: str, errors: str, said: str) -> None:
    (tmp_path / "output.txt").write_text(printed + errors)
    assert outcome(replace(run(tmp_path / "output.txt"), errors_at=len(printed))).said == said


def test_nothing_of_programs_that_passed_or_whose_output_was_not_kept(tmp_path: Path) -> None:
    (tmp_path / "output.txt").write_text("done\n")
    assert outcome(run(tmp_path / "output.txt", 0)).said == ""
    assert outcome(run(None)).said == outcome(run(tmp_path / "gone")).said == ""
