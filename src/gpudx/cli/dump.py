"""gpudx dump: what a recorded process is doing right now, for programs."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict

from gpudx.cli.options import RecordedPid


def command(
    pid: RecordedPid,
) -> None:
    """Write the launches in flight in a running program as JSON. The same as gpudx attach, for programs.

    \b
        gpudx dump $(pgrep server) | jq '.streams[].running[0]'

    Exit status: 0; 2 if there is no such process, or it is not being recorded.
    """
    from gpudx.cli.attach import traces_of
    from gpudx.live.in_flight import look, newest

    json.dump(asdict(look(newest(traces_of(pid), pid))), sys.stdout, indent=2)
    sys.stdout.write("\n")
