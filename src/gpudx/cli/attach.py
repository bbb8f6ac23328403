"""gpudx attach: what a recorded process is doing right now."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path

from gpudx.cli.options import AsJson, RecordedPid
from gpudx.errors import UserError

VARIABLE = "GPUDX_DIR"


def command(
    pid: RecordedPid,
    as_json: AsJson = False,
) -> None:
    """Show the launches in flight in a running program, per stream, and what waits behind them.

    The process must have been started by `gpudx run`. It is not disturbed: only its trace file is read.

    \b
        gpudx run -- ./server &
        gpudx attach $(pgrep server)

    Exit status: 0; 2 if there is no such process, or it is not being recorded.
    """
    from gpudx.live.in_flight import lines, look, newest
    from gpudx.report.safe import clean

    now = look(newest(traces_of(pid), pid))
    if as_json:
        json.dump(asdict(now), sys.stdout, indent=2)
        sys.stdout.write("\n")
        return
    sys.stdout.write("".join(f"{clean(line)}\n" for line in lines(now)))


def traces_of(pid: int) -> Path:
    """Where a process is recorded."""
    try:
        environment = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except FileNotFoundError:
        raise UserError(f"There is no process {pid}: `ps` lists those that run.") from None
    except OSError as error:
        raise UserError(f"Process {pid} cannot be read ({error.strerror}): run gpudx attach as the user who started it.") from None
    prefix = f"{VARIABLE}=".encode()
    found = [
        entry[len(prefix) :].decode("utf-8", "surrogateescape") for entry in environment if entry.startswith(prefix)
    ]
    if not found or not Path(found[0]).is_dir():
        raise UserError(f"Process {pid} is not being recorded: start it with `gpudx run -- CMD`.")
    return Path(found[0])
