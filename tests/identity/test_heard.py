"""The program writes to what it is given, whatever that is; marks in it are counted where they stand."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gpudx.lab.probe_output import Mark, _Scanner, parse

RUN = """
import json, sys
from pathlib import Path
from gpudx.model.how import How
from gpudx.lab.recorded import run_recorded
run = run_recorded(sys.argv[2:], Path(sys.argv[1]), How(probes=("MARK",)))
heard = {text: [mark.count, mark.places] for text, mark in run.heard.items()}
Path(sys.argv[1], "heard.json").write_text(json.dumps([run.exit_status, heard["MARK"]]))
"""
BOTH = "import sys; print('a'); print('MARK'); print('MARK MARK', file=sys.stderr); print(sys.stdout.isatty())"


def run(case: Path, *words: str, **more: object) -> tuple[list[object], subprocess.CompletedProcess[str]]:
    import json

    done = subprocess.run([sys.executable, "-c", RUN, str(case), *words], text=True, timeout=60, check=False, **more)  # type: ignore[call-overload]
    return json.loads((case / "heard.json").read_text()), done


def test_kinds() -> None:
    assert parse("sym:gemm") == ("symbol", "gemm", 0)
    assert parse("src/main.c:12") == ("line", "src/main.c", 12)
    assert parse("ENTER main.c:12") == ("text", "ENTER main.c:12", 0)
    assert parse("text:main.c:12") == ("text", "main.c:12", 0)
    assert parse("rows: 12") == ("text", "rows: 12", 0)


def test_pieces_of_any_size() -> None:
    """A mark that is cut by reads is found once, on its line."""
    text = b"one\ntwo MARK\nthree\nMARK"
    for size in range(1, len(text) + 1):
        scanner = _Scanner("stdout", {"MARK": Mark()})
        for at in range(0, len(text), size):
            scanner.feed(text[at : at + size])
        scanner.end()
        assert scanner.marks["MARK"].places == ["stdout line 2", "stdout line 4"] and scanner.marks["MARK"].count == 2


def test_pipes(tmp_path: Path) -> None:
    heard, done = run(tmp_path, sys.executable, "-c", BOTH, capture_output=True)
    assert done.stdout == "a\nMARK\nFalse\n" and done.stderr == "MARK MARK\n"
    assert heard == [0, [3, heard[1][1]]]  # type: ignore[index]
    assert sorted(heard[1][1]) == ["stderr line 1", "stdout line 2"]  # type: ignore[index]


def test_one_pipe_keeps_the_order(tmp_path: Path) -> None:
    words = "echo 1; echo MARK >&2; echo 3; echo 4 >&2"
    heard, done = run(tmp_path, "sh", "-c", words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.stdout == "1\nMARK\n3\n4\n" and heard[1] == [1, ["output line 2"]]


def test_a_file_stays_a_file(tmp_path: Path) -> None:
    """It is read afterwards, from where the program began."""
    with (tmp_path / "log").open("w+") as log:
        log.write("MARK of before\n")
        log.flush()
        heard, _ = run(tmp_path, "sh", "-c", "test -f /dev/stdout && echo MARK", stdout=log, stderr=subprocess.DEVNULL)
    assert heard == [0, [1, ["stdout line 1"]]]
    assert (tmp_path / "log").read_text() == "MARK of before\nMARK\n"


def test_a_terminal_stays_a_terminal(tmp_path: Path) -> None:
    here, there = os.openpty()
    heard, _ = run(tmp_path, sys.executable, "-c", BOTH, stdout=there, stderr=subprocess.DEVNULL)
    os.close(there)
    assert os.read(here, 1000) == b"a\r\nMARK\r\nTrue\r\n"
    assert sorted(heard[1][1]) == ["stderr line 1", "stdout line 2"]  # type: ignore[index]


def test_nobody_reads(tmp_path: Path) -> None:
    """The program hears of it from its own write, as without us."""
    here, there = os.pipe()
    os.close(here)
    heard, _ = run(tmp_path, "sh", "-c", "while :; do echo MARK; done", stdout=there, stderr=subprocess.DEVNULL)
    os.close(there)
    assert heard[0] == 128 + 13


def test_a_child_that_stays_does_not_hold_us(tmp_path: Path) -> None:
    heard, _ = run(tmp_path, "sh", "-c", "echo MARK; sleep 20 & exit 3", capture_output=False, stdout=subprocess.PIPE)
    assert heard == [3, [1, ["stdout line 1"]]]


def test_megabytes_go_through(tmp_path: Path) -> None:
    words = "import sys; sys.stdout.write(('x' * 99 + '\\n') * 100000 + 'MARK')"
    heard, done = run(tmp_path, sys.executable, "-c", words, capture_output=True)
    assert len(done.stdout) == 10_000_004 and heard[1] == [1, ["stdout line 100001"]]


def test_without_probes_nothing_is_between(tmp_path: Path) -> None:
    from gpudx.lab.probe_output import Listener

    assert Listener(()).actions == [] and Listener(("sym:main",)).actions == []


@pytest.mark.parametrize("data", [b"", b"\n", b"\n\n\n", b"\xff\xfe\x00"])
def test_odd_output(data: bytes) -> None:
    scanner = _Scanner("stdout", {"MARK": Mark()})
    scanner.feed(data)
    scanner.end()
    assert scanner.marks["MARK"].count == 0


def test_what_runs_programs_brings_no_threads() -> None:
    """numpy starts threads, which would take signals that are meant for the program."""
    words = "import sys; import gpudx.cli.run, gpudx.lab.recorded, gpudx.cli.running; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", words], check=False).returncode == 0
