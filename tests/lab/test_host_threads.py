"""Host threads that are looked at from outside, and what is read of it again."""

from __future__ import annotations

import json
import platform
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gpudx.lab.host_threads import keep
from gpudx.trace.host_threads import NAME, HostThreads, of_trace

WAITING = """
#define _GNU_SOURCE
#include <stdio.h>
#include <time.h>
#include <unistd.h>
int main(void)
{
    const struct timespec rest = { 1, 0 };
    puts("ready");
    fflush(stdout);
    if (!vfork()) {
        nanosleep(&rest, NULL);
        _exit(0);
    }
    return 3;
}
"""
BUSY = "import sys; print('ready', flush=True)\nwhile True: pass"


@pytest.mark.skipif(platform.machine() != "x86_64", reason="registers are read on x86-64 only")
@pytest.mark.parametrize("recorded", [True, False])
def test_a_busy_program_goes_on_after_it_was_looked_at(tmp_path: Path, recorded: bool) -> None:
    """Only processes with a trace are kept."""
    with subprocess.Popen([sys.executable, "-c", BUSY], stdout=subprocess.PIPE, text=True) as program:
        try:
            assert program.stdout is not None and program.stdout.readline() == "ready\n"
            trace = tmp_path / f"{program.pid}-0.gdx"
            if recorded:
                trace.touch()
            keep([program.pid], tmp_path)
            found = of_trace(trace, program.pid)
            assert len(found.threads) == int(recorded) and bool(found.maps) == recorded
            assert all(one.pc and one.sp and one.stack for one in found.threads)
            assert program.poll() is None, "it still runs"
        finally:
            program.kill()


@pytest.mark.builds
@pytest.mark.skipif(platform.machine() != "x86_64", reason="registers are read on x86-64 only")
def test_a_thread_that_does_not_stop_in_time_goes_on_later(tmp_path: Path) -> None:
    """As one inside a driver: after vfork the parent cannot be stopped before the child has ended."""
    (tmp_path / "waiting.c").write_text(WAITING)
    subprocess.run(["cc", "-o", tmp_path / "waiting", tmp_path / "waiting.c"], check=True)
    with subprocess.Popen([tmp_path / "waiting"], stdout=subprocess.PIPE, text=True) as program:
        try:
            assert program.stdout is not None and program.stdout.readline() == "ready\n"
            time.sleep(0.1)
            keep([program.pid], tmp_path)
            assert program.wait(timeout=20) == 3
        finally:
            program.kill()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{",
        json.dumps({"maps": "", "threads": [{"tid": 1, "registers": [1], "stack": ""}]}),
        json.dumps({"maps": "", "threads": [{"tid": 1, "registers": [0] * 17, "stack": "xyz"}]}),
        json.dumps({"maps": "", "threads": 7}),
    ],
)
def test_a_damaged_file_says_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / NAME.format(pid=5)).write_text(text)
    assert of_trace(tmp_path / "5-0.gdx", 5) == HostThreads()


def test_numbers_are_cut_to_addresses(tmp_path: Path) -> None:
    one = {"tid": 1, "registers": [1 << 70, *[-1] * 16], "stack": "00"}
    (tmp_path / NAME.format(pid=5)).write_text(json.dumps({"maps": "", "threads": [one]}))
    (words,) = of_trace(tmp_path / "5-0.gdx", 5).threads
    assert words.registers == (0, *[(1 << 64) - 1] * 16)
