"""gpudx explain: logs in, a report or a case out."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import IO

import pytest
from cli_kit import HERE, Gpudx

from gpudx import casefile

LOG = "step 1\nRuntimeError: CUDA error: an illegal memory access was encountered\nAborted (core dumped)\n"


def test_a_report_and_a_case(gpudx_cli: Gpudx, tmp_path: Path) -> None:
    (tmp_path / "crash.log").write_text(LOG)
    done = gpudx_cli("explain", "crash.log", "--case", "told")
    assert done.returncode == 0 and not done.stderr
    assert done.stdout.startswith("gpudx: INCONCLUSIVE device-error-reported\n")
    assert "To settle it: gpudx run --serialise --stacks -- ./app" in done.stdout
    assert casefile.read(tmp_path / "told").findings[0].id == "log-illegal-address"
    for name in ("terminal", "markdown", "json"):
        assert gpudx_cli("report", "told", "-f", name).returncode == 0
    assert json.loads(gpudx_cli("explain", "crash.log", "-f", "json").stdout)["outcome"]["kind"] == "not started"


def test_standard_input(environment: dict[str, str], tmp_path: Path) -> None:
    command = [sys.executable, str(HERE / "stand_in.py"), "explain", "-"]
    done = subprocess.run(command, input=LOG, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert "line 2 of standard input" in done.stdout.replace("\n    ", " ")


def test_nothing_is_recognised(gpudx_cli: Gpudx, tmp_path: Path) -> None:
    (tmp_path / "poem.txt").write_text("roses are red\n")
    done = gpudx_cli("explain", "poem.txt")
    assert done.returncode == 1
    assert (
        done.stdout.startswith("gpudx: NOTHING RECOGNISED\n")
        and "Nothing in 1 line looks like a failure." in done.stdout
    )


def test_what_cannot_be_read(gpudx_cli: Gpudx, tmp_path: Path) -> None:
    assert "missing.log cannot be read (No such file or directory)" in gpudx_cli("explain", "missing.log").stderr
    assert "is a directory" in gpudx_cli("explain", ".").stderr


def test_help_has_examples(gpudx_cli: Gpudx) -> None:
    assert "dmesg | gpudx explain -" in gpudx_cli("explain", "--help").stdout


def test_a_bug_report_is_answered(gpudx_cli: Gpudx, tmp_path: Path) -> None:
    (tmp_path / "report.md").write_text(
        "The bug is in cudaFree.\n\n```\nCUDA error 719 in cudaFree(p) at a.cu:7\n```\n"
    )
    done = gpudx_cli("explain", "--issue", "report.md")
    assert done.returncode == 0 and done.stdout.startswith("**Established by the logs**\n")
    assert "cudaFree only returned it" in done.stdout


def test_only_strange_lines_are_not_recognised(gpudx_cli: Gpudx, tmp_path: Path) -> None:
    (tmp_path / "strange.log").write_text("the widget failed to align\n")
    done = gpudx_cli("explain", "strange.log")
    assert done.returncode == 1 and "gpudx does not know its format" in done.stdout.replace("\n  ", " ")


def test_nothing_to_read(gpudx_cli: Gpudx) -> None:
    done = gpudx_cli("explain")
    assert done.returncode == 2 and "No log was given" in done.stderr
    assert "can be read only once" in gpudx_cli("explain", "-", "-").stderr


def test_events_of_a_log_that_is_still_written(environment: dict[str, str], tmp_path: Path) -> None:
    """The first event is shown while the writer is still there: it writes its last line only after that."""
    command = [sys.executable, str(HERE / "stand_in.py"), "explain", "-"]
    with subprocess.Popen(
        command,
        env=environment,
        cwd=tmp_path,
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdin and process.stdout and process.stderr
        process.stdin.write("step 1\nCUDA error: misaligned address at a.cu:1\n")
        process.stdin.flush()
        shown = process.stderr.readline()
        assert shown.startswith("gpudx: line 2: A kernel accessed memory at an address")
        process.stdin.write("Aborted (core dumped)\n")
        process.stdin.close()
        report = process.stdout.read()
        assert process.wait(timeout=60) == 0
    assert report.startswith("gpudx: INCONCLUSIVE device-error-reported\n") and "gpudx run --serialise" in report


@pytest.mark.parametrize("pause", [0.0, 0.05])
def test_a_writer_that_never_stops_is_followed(pause: float, environment: dict[str, str], tmp_path: Path) -> None:
    """Thousands of lines at a time, or some all the time: what is found is shown while they come."""
    command = [sys.executable, str(HERE / "stand_in.py"), "explain", "-"]
    shown = threading.Event()

    def write(file: IO[bytes]) -> None:
        file.write(b"step 1\nCUDA error: misaligned address at a.cu:1\n")
        while not shown.is_set():
            file.write(b"step 2 loss 0.1 and so on\n" * (1 if pause else 4000))
            file.flush()
            time.sleep(pause)
        file.close()

    with subprocess.Popen(
        command, env=environment, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdin and process.stdout and process.stderr
        writer = threading.Thread(target=write, args=(process.stdin,))
        writer.start()
        try:
            line = process.stderr.readline()
        finally:
            shown.set()
            writer.join()
        assert line.startswith(b"gpudx: line 2: A kernel accessed memory at an address")
        assert process.stdout.read().startswith(b"gpudx: INCONCLUSIVE device-error-reported\n")
        assert process.wait(timeout=60) == 0
