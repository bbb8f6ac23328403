"""Job control: a terminal's signals reach the program as without gpudx, and gpudx lives to write the case."""

from __future__ import annotations

import contextlib
import os
import pty
import select
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

DRIVER = Path(__file__).resolve().parent / "driver.py"


class Terminal:
    """A pseudo-terminal with gpudx in its foreground.

    It shows what is typed as well as what comes out. Words to wait for are typed with '' inside, so that only the
    output has them; what stands before them on the line depends on TERM.
    """

    def __init__(self, *command: str) -> None:
        self.text = ""
        self.pid, self.master = pty.fork()
        if self.pid == 0:
            os.execv(command[0], command)

    def expect(self, wanted: str, seconds: float = 20) -> None:
        limit = time.monotonic() + seconds
        while wanted not in self.text:
            ready, _, _ = select.select([self.master], [], [], max(0, limit - time.monotonic()))
            assert ready, f"{wanted!r} is not in {self.text!r}"
            with contextlib.suppress(OSError):
                self.text += os.read(self.master, 4096).decode()

    def press(self, key: str) -> None:
        os.write(self.master, key.encode())

    def end(self) -> int:
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


@pytest.fixture
def driven(recorder: Path, tmp_path: Path) -> Iterator[list[Terminal]]:
    """Terminals that are closed after the test."""
    opened: list[Terminal] = []
    yield opened
    for terminal in opened:
        with contextlib.suppress(ProcessLookupError):
            os.kill(terminal.pid, signal.SIGKILL)
        os.close(terminal.master)


def open_terminal(driven: list[Terminal], place: Path, *command: str) -> Terminal:
    terminal = Terminal(sys.executable, str(DRIVER), str(place), "0", *command)
    driven.append(terminal)
    return terminal


def test_the_program_sees_the_terminal(driven: list[Terminal], tmp_path: Path) -> None:
    terminal = open_terminal(driven, tmp_path, "sh", "-c", "test -t 0 && test -t 1 && test -t 2 && echo all three")
    terminal.expect("all three")
    assert terminal.end() == 0


def test_ctrl_c_kills_the_program_and_gpudx_writes_first(driven: list[Terminal], tmp_path: Path) -> None:
    terminal = open_terminal(driven, tmp_path, "sh", "-c", "echo ready; exec sleep 30")
    terminal.expect("ready")
    terminal.press("\x03")
    terminal.expect("lab: -2 SIGINT False")
    assert terminal.end() == -signal.SIGINT


def test_ctrl_c_comes_once(driven: list[Terminal], tmp_path: Path) -> None:
    """A program that counts Ctrl-C (the second one means "now!") must not count twice."""
    script = "n=0; trap 'n=$((n+1)); echo caught $n' INT; echo ready; sleep 0.6; sleep 0.3; exit $((20+n))"
    terminal = open_terminal(driven, tmp_path, "sh", "-c", script)
    terminal.expect("ready")
    terminal.press("\x03")
    terminal.expect("lab: 21")
    assert terminal.end() == 21


def test_ctrl_backslash(driven: list[Terminal], tmp_path: Path) -> None:
    terminal = open_terminal(
        driven, tmp_path, "sh", "-c", "ulimit -c 0; trap 'echo quit; exit 6' QUIT; echo ready; sleep 9"
    )
    terminal.expect("ready")
    terminal.press("\x1c")
    terminal.expect("quit")
    assert terminal.end() == 6


def test_ctrl_z_and_continue_in_a_shell(recorder: Path, tmp_path: Path, driven: list[Terminal]) -> None:
    """An interactive shell sees a stopped job, and fg brings it back."""
    terminal = Terminal("/bin/bash", "--norc", "--noprofile", "-i")
    driven.append(terminal)
    terminal.press("PS1='> '; echo sta''rted\n")
    terminal.expect("started")
    terminal.press(f"{sys.executable} {DRIVER} {tmp_path} 0 sh -c 'echo rea''dy; sleep 2; echo do''ne'\n")
    terminal.expect("ready")
    terminal.press("\x1a")
    terminal.expect("Stopped")
    terminal.press("fg\n")
    terminal.expect("done")
    terminal.expect("lab: 0 None False")
    terminal.press("exit\n")
    assert terminal.end() == 0


def test_a_program_that_stops_itself(recorder: Path, tmp_path: Path, driven: list[Terminal]) -> None:
    terminal = Terminal("/bin/bash", "--norc", "--noprofile", "-i")
    driven.append(terminal)
    terminal.press("PS1='> '; echo sta''rted\n")
    terminal.expect("started")
    terminal.press(f"{sys.executable} {DRIVER} {tmp_path} 0 sh -c 'echo rea''dy; kill -STOP $$; echo do''ne'\n")
    terminal.expect("ready")
    terminal.expect("Stopped")
    terminal.press("fg\n")
    terminal.expect("done")
    terminal.expect("lab: 0 None False")
