"""Programs that run beside the one under test, to their end and without input."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path


def run_quietly(words: Sequence[str], env: Mapping[str, str], folder: Path) -> int:
    """Without output: what it finds out is in a file. Its exit status, or -N after signal N."""
    return subprocess.run(
        words, env=dict(env), cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False
    ).returncode


def run_detached(command: list[str], environment: Mapping[str, str]) -> str:
    """In a session of its own, so that signals for ours do not reach it. What it wrote to stderr."""
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
