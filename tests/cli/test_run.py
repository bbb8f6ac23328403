"""gpudx run: the program's life is its own; gpudx speaks on stderr."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from cli_kit import HERE, Gpudx

from gpudx import casefile


def only_case(place: Path) -> Path:
    assert (place / "gpudx-cases/.gitignore").read_text() == "*\n"
    (found,) = (one for one in (place / "gpudx-cases").iterdir() if one.is_dir())
    return found


def test_a_quiet_pass(gpudx_cli: Gpudx, tmp_path: Path) -> None:
    done = gpudx_cli("run", "--", "echo", "hello")
    assert done.stdout == "hello\n"
    case = only_case(tmp_path)
    assert done.stderr == f"gpudx: no fault found in 10 calls, 2 launches. case: {case.relative_to(tmp_path)}\n"
    assert done.returncode == 0
    assert casefile.read(case).command == ("echo", "hello")
    assert "-echo-" in case.name and case.name[8] == "T"


def test_nothing_was_recorded(gpudx_cli: Gpudx) -> None:
    assert "no GPU API call was recorded" in gpudx_cli("run", "--", "true", finds="nothing").stderr


def test_a_static_program_that_passes(gpudx_cli: Gpudx, tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text("int main(void){return 0;}")
    subprocess.run(["cc", "-static", "-o", tmp_path / "app", tmp_path / "a.c"], check=True)
    done = gpudx_cli("run", "--", "./app")
    assert "could not watch this program" in done.stderr and "statically linked" in done.stderr
    assert gpudx_cli("run", "--error-exitcode", "9", "--", "./app").returncode == 9


def test_other_threads_of_gpudx_block_the_signals_that_it_passes_on(environment: dict[str, str], tmp_path: Path) -> None:
    """Signals are read by the first thread; another that does not block them would take them and end gpudx. In a process of its own,
    which loads the analysis while the program runs. The first thread's mask is empty while it waits for them (sigtimedwait)."""
    show = "sleep 1; for task in /proc/$PPID/task/*; do [ ${task##*/} = $PPID ] || grep SigBlk $task/status; done"
    command = [sys.executable, "-m", "gpudx", "run", "-q", "--", "sh", "-c", show]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60)
    masks = {int(line.split()[1], 16) for line in done.stdout.splitlines()}
    wanted = sum(1 << (number - 1) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD))
    assert masks and all(mask & wanted == wanted for mask in masks)


def test_options_after_the_command_are_the_commands(gpudx_cli: Gpudx) -> None:
    assert gpudx_cli("run", "echo", "--timeout", "-q", "--", "x").stdout == "--timeout -q -- x\n"


def test_exit_status_and_report(gpudx_cli: Gpudx) -> None:
    done = gpudx_cli("run", "--", "sh", "-c", "echo out; exit 5", finds="confirmed error")
    assert done.returncode == 5
    assert done.stdout == "out\n"
    assert done.stderr.startswith("gpudx: CONFIRMED some-cause  ")
    assert "exit status 5 after" in done.stderr.splitlines()[0] and done.stderr.splitlines()[1] == "  Because."
    assert "\x1b" not in done.stderr


def test_death_by_signal(gpudx_cli: Gpudx, tmp_path: Path) -> None:
    done = gpudx_cli("run", "--", "sh", "-c", "kill -ABRT $$")
    assert done.returncode == -signal.SIGABRT
    assert casefile.read(only_case(tmp_path)).outcome.signal == "SIGABRT"
    assert "NO CAUSE FOUND" in done.stderr


def test_timeout(gpudx_cli: Gpudx, tmp_path: Path) -> None:
    done = gpudx_cli("run", "--timeout", "0.3", "--", "sleep", "30")
    assert done.returncode == 124
    assert casefile.read(only_case(tmp_path)).outcome.kind == "timeout"
    assert (only_case(tmp_path) / "hang.txt").read_text().startswith("process ")


def test_quiet(gpudx_cli: Gpudx, tmp_path: Path) -> None:
    done = gpudx_cli("run", "--quiet", "--", "false", finds="confirmed")
    assert (done.stderr, done.returncode) == ("", 1)
    assert casefile.read(only_case(tmp_path)).diagnosis


@pytest.mark.parametrize(
    ("finds", "command", "status"),
    [
        ("", "true", 0),
        ("warning info", "true", 0),
        ("refuted", "true", 0),
        ("error", "true", 9),
        ("confirmed", "true", 9),
        ("likely", "true", 9),
        ("inconclusive", "true", 9),
        ("error", "exit 4", 4),
        ("", "exit 4", 4),
        ("bug", "true", 0),
    ],
)
def test_error_exitcode(gpudx_cli: Gpudx, finds: str, command: str, status: int) -> None:
    assert gpudx_cli("run", "--error-exitcode", "9", "--", "sh", "-c", command, finds=finds).returncode == status


def test_a_bug_of_ours_does_not_hide_the_programs_end(gpudx_cli: Gpudx, tmp_path: Path) -> None:
    done = gpudx_cli("run", "--", "sh", "-c", "exit 6", finds="bug")
    assert done.returncode == 6
    assert done.stderr.count("\n") == 1 and "a bug in gpudx" in done.stderr
    assert "ZeroDivisionError" in (only_case(tmp_path) / "gpudx-error.txt").read_text()


@pytest.mark.parametrize(("finds", "says"), [("full", "There is no room."), ("interrupt", "was interrupted")])
def test_an_analysis_that_cannot_be_done(gpudx_cli: Gpudx, finds: str, says: str) -> None:
    done = gpudx_cli("run", "--", "sh", "-c", "exit 6", finds=finds)
    assert done.returncode == 6
    assert says in done.stderr


@pytest.mark.parametrize(
    ("words", "status", "says"),
    [
        (("no-such-command",), 127, "command not found"),
        (("./no-such-file",), 127, "no such file"),
        ((".",), 126, "is a directory"),
        (("./plain",), 126, "chmod"),
    ],
)
def test_what_cannot_be_started(
    gpudx_cli: Gpudx, tmp_path: Path, words: tuple[str, ...], status: int, says: str
) -> None:
    (tmp_path / "plain").write_text("")
    words = ("./",) if words == (".",) else words
    done = gpudx_cli("run", "--", *words)
    assert done.returncode == status
    assert says in done.stderr and done.stderr.count("\n") == 1
    assert not (tmp_path / "gpudx-cases").exists()


def test_a_case_directory_of_ones_own(gpudx_cli: Gpudx, tmp_path: Path) -> None:
    assert gpudx_cli("run", "--case", "mine/deep", "--", "true").returncode == 0
    assert casefile.read(tmp_path / "mine/deep").directory == str(tmp_path / "mine/deep")
    again = gpudx_cli("run", "--case", "mine/deep", "--", "true")
    assert again.returncode == 2 and "is not empty" in again.stderr
    (tmp_path / "empty").mkdir()
    assert gpudx_cli("run", "--case", "empty", "--", "true").returncode == 0


def test_a_case_directory_that_cannot_be_written(gpudx_cli: Gpudx, tmp_path: Path) -> None:
    (tmp_path / "gpudx-cases").write_text("in the way")
    done = gpudx_cli("run", "--", "echo", "never")
    assert done.returncode == 2 and done.stdout == ""
    assert "--case DIR" in done.stderr
    (tmp_path / "locked").mkdir()
    (tmp_path / "locked").chmod(stat.S_IRUSR | stat.S_IXUSR)
    if os.geteuid():
        assert gpudx_cli("run", "--case", "locked/case", "--", "true").returncode == 2
    assert gpudx_cli("run", "--case", "/proc/case", "--", "true").returncode == 2


@pytest.mark.parametrize(
    "words",
    [(), ("--timeout", "0", "--", "true"), ("--timeout", "x", "--", "true"), ("--error-exitcode", "300", "--", "true")],
)
def test_wrong_use(gpudx_cli: Gpudx, words: tuple[str, ...]) -> None:
    done = gpudx_cli("run", *words)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def test_stacks_are_asked_for(gpudx_cli: Gpudx) -> None:
    show = ("--", "sh", "-c", "echo $GPUDX_STACKS")
    assert gpudx_cli("run", "--stacks", *show).stdout == "1\n"
    assert gpudx_cli("run", *show).stdout == "\n"


def test_wrong_sizes_and_missing_library(gpudx_cli: Gpudx, tmp_path: Path) -> None:
    done = gpudx_cli("run", "--keep", "lots", "--", "true")
    assert done.returncode == 2 and "not a size" in done.stderr
    done = gpudx_cli("run", "--", "true", GPUDX_LIB="/no/lib.so")
    assert done.returncode == 2 and "GPUDX_LIB" in done.stderr
    assert not (tmp_path / "gpudx-cases").exists()


@pytest.mark.parametrize("where", ["2>/dev/full", "2>&-", ">/dev/full 2>&1", "<&- >&- 2>&-"])
def test_nobody_listens(environment: dict[str, str], tmp_path: Path, where: str) -> None:
    """The program's status still counts."""
    words = f"{sys.executable} {HERE / 'stand_in.py'} run -- sh -c 'exit 5' {where}"
    env = {**environment, "STAND_IN": "confirmed"}
    assert subprocess.run(["sh", "-c", words], cwd=tmp_path, env=env).returncode == 5


def test_help_and_version(gpudx_cli: Gpudx) -> None:
    assert gpudx_cli("--version").stdout.startswith("gpudx 0.")
    shown = gpudx_cli("--help").stdout
    for name in ("run", "report", "show", "demo", "doctor"):
        assert f"  {name} " in shown
        assert gpudx_cli(name, "--help").returncode == 0
    assert gpudx_cli("nonsense").returncode == 2
