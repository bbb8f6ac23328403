"""A process in a session of its own, without input, run to its end."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping


def run_detached(command: list[str], environment: Mapping[str, str]) -> str:
    """What it wrote to stderr. Signals for our session do not reach it."""
    done = subprocess.run(
        command,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        start_new_session=True,
        check=False,
    )
    return done.stderr
