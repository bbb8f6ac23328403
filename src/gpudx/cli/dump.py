"""gpudx dump: what a recorded process is doing right now, for programs."""

from __future__ import annotations

from gpudx.cli.options import RecordedPid


def command(
    pid: RecordedPid,
) -> None:
    """Write the launches in flight in a running program as JSON: the same as gpudx attach --json.

    \b
        gpudx dump $(pgrep server) | jq '.streams[].running[0]'

    Exit status: 0; 2 if there is no such process, or it is not being recorded.
    """
    from gpudx.cli import attach

    attach.command(pid, as_json=True)
