"""Recorded runs to hold against each other."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from support import forked

Record = Callable[..., Path]


def gpudx(*words: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return forked.gpudx(*words, env=os.environ | environment)


def diff(good: Path, bad: Path, *more: str) -> tuple[int, dict[str, Any]]:
    """The exit status and the comparison."""
    done = gpudx("diff", good, bad, "--json", *more)
    assert done.returncode in (0, 1), done.stderr
    return done.returncode, json.loads(done.stdout)
