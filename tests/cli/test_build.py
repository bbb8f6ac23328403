"""gpudx build: the build's own words, status and terminal; a case beside it. Compilers are stand-ins that print."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

from cli_kit import HERE, Gpudx

from gpudx import casefile

SAYS = r"""printf 'nvcc -c a.cu\n'
printf "ptxas info    : Compiling entry function 'k' for 'sm_90'\n" >&2
printf 'ptxas info    : Used 40 registers, 512 bytes smem\n' >&2
printf 'flags %s\n' "$NVCC_APPEND_FLAGS"
exit ${1:-0}
"""


def test_output_and_status_are_the_builds_own(gpudx_cli: Gpudx, tmp_path: Path) -> None:
    (tmp_path / "b.sh").write_text(SAYS)
    plain = subprocess.run(["sh", "b.sh", "7"], cwd=tmp_path, capture_output=True, text=True, check=False)
    done = gpudx_cli("build", "--case", "c", "--", "sh", "b.sh", "7")
    assert (done.returncode, done.stdout) == (7, plain.stdout)
    assert done.stderr.startswith(plain.stderr) and "Kernels as built: 1" in done.stderr
    case = casefile.read(tmp_path / "c")
    assert (case.outcome.word, case.kernels[0].build.registers) == ("exit:7", 40)
    assert (tmp_path / "c" / "build.log").read_text().count("ptxas") == 2


def test_report_and_show(gpudx_cli: Gpudx, tmp_path: Path) -> None:
    (tmp_path / "b.sh").write_text(SAYS)
    assert gpudx_cli("build", "-q", "--case", "c", "--", "sh", "b.sh").returncode == 0
    assert gpudx_cli("report", "c").stdout.startswith("gpudx: KERNELS READ\n")
    assert gpudx_cli("show", "c", "builds", "--csv").stdout.splitlines()[1].startswith("k,sm_90,40,,,,512,")
    assert "no recorded traces here" in gpudx_cli("show", "c", "launches").stderr


def test_asking(gpudx_cli: Gpudx, tmp_path: Path) -> None:
    (tmp_path / "b.sh").write_text(SAYS)
    assert "flags \n" in gpudx_cli("build", "--", "sh", "b.sh").stdout
    assert "flags -Xptxas -v\n" in gpudx_cli("build", "--ask", "--", "sh", "b.sh").stdout


def test_a_build_that_tells_nothing(gpudx_cli: Gpudx) -> None:
    done = gpudx_cli("build", "--", "true")
    assert done.returncode == 0 and "of its kernels: add --ask" in done.stderr


def test_what_cannot_be_run(gpudx_cli: Gpudx) -> None:
    assert gpudx_cli("build", "--", "no-such-build").returncode == 127
    assert "write it after --" in gpudx_cli("build").stderr


def test_a_signal_stays_a_signal(gpudx_cli: Gpudx) -> None:
    assert gpudx_cli("build", "--", "sh", "-c", "kill -TERM $$").returncode == -15


def test_a_server_left_behind_is_not_waited_for(gpudx_cli: Gpudx) -> None:
    assert "done" in gpudx_cli("build", "--", "sh", "-c", "sleep 20 & echo done").stdout


def test_a_terminal_stays_a_terminal(environment: dict[str, str], tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    command = [
        sys.executable,
        str(HERE / "stand_in.py"),
        "build",
        "--",
        "sh",
        "-c",
        "test -t 1 && test -t 2 && echo both",
    ]
    child = subprocess.Popen(command, stdout=theirs, stderr=theirs, env=environment, cwd=tmp_path)
    os.close(theirs)
    text = b""
    while True:
        try:
            text += os.read(ours, 4096)
        except OSError:
            break
    assert child.wait(60) == 0 and text.startswith(b"both\r\n")
