"""A program in a fresh process, without a terminal and without output: what it finds out is in a file."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path


def run_quietly(words: Sequence[str], env: Mapping[str, str], folder: Path) -> int:
    """Its exit status, or -N after signal N."""
    return subprocess.run(
        words, env=dict(env), cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False
    ).returncode
