"""Waiting for signals: what comes, who sent it, and nothing that did not come."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

from gpudx.lab import signals

WAITS = """
import signal, sys
from gpudx.lab import signals
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
print("ready", flush=True)
heard = signals.wait({signal.SIGUSR1}, float(sys.argv[1]))
print(heard and (heard.number, heard.pid))
"""


def waiting(seconds: float) -> subprocess.Popen[str]:
    child = subprocess.Popen([sys.executable, "-c", WAITS, str(seconds)], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None and child.stdout.readline() == "ready\n"
    return child


def test_a_signal_comes_with_its_sender() -> None:
    child = waiting(60)
    child.send_signal(signal.SIGUSR1)
    assert child.communicate()[0] == f"({int(signal.SIGUSR1)}, {os.getpid()})\n"


def test_a_wait_that_was_stopped_until_its_time_was_over_heard_nothing() -> None:
    child = waiting(0.5)
    child.send_signal(signal.SIGSTOP)
    time.sleep(1)
    child.send_signal(signal.SIGCONT)
    assert child.communicate()[0] == "None\n"


def test_nothing_comes() -> None:
    assert signals.wait({signal.SIGUSR2}, 0) is None
    assert waiting(0.01).communicate()[0] == "None\n"
