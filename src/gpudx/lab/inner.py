"""Run as a program between a tool and the user's program: tells gpudx which process that was and how it ended.

    python inner.py FILE PROGRAM COMMAND...

A tool that starts the program itself need not pass its status on: compute-sanitizer answers 255 for a program that made
no CUDA call, whatever its status was. FILE gets one line when the program was started (its process, then those of its
launchers that are known) and one with its wait status, or one with the error number if it cannot be started. It
imports next to nothing, because it runs in the tool's environment.
"""

import errno
import os
import signal
import sys

HELD = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)  # the program's to act on, as under a shell
CHANGED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)
NOT_EXECUTABLE = 126


def main(told: str, program: str, command: list[str]) -> int:
    """Start the program, wait for it, and give its exit status as a shell shows it."""
    out = os.open(told, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
    restored = [one for one in HELD if signal.getsignal(one) != signal.SIG_IGN]
    for one in HELD:
        signal.signal(one, signal.SIG_IGN)
    try:
        pid = _start(program, command, [*restored, *CHANGED_BY_PYTHON])
    except OSError as error:
        os.write(out, f"refused {error.errno}\n".encode())
        return NOT_EXECUTABLE
    os.write(out, f"started {pid} {os.getpid()} {os.getppid()}\n".encode())
    status = os.waitpid(pid, 0)[1]
    os.write(out, f"ended {status}\n".encode())
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def _start(program: str, command: list[str], restored: list[signal.Signals]) -> int:
    try:
        return os.posix_spawn(program, command, os.environ, setsigdef=restored)
    except OSError as error:
        if error.errno != errno.ENOEXEC:
            raise
        with open(program, "rb") as file:
            if file.read(4) == b"\x7fELF":  # for another machine
                raise
        return os.posix_spawn("/bin/sh", ["sh", program, *command[1:]], os.environ, setsigdef=restored)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3:]))
