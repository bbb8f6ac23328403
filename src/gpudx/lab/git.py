"""Asking git, without locking, refreshing or triggering anything of the user's."""

from __future__ import annotations

import os
from pathlib import Path

from gpudx.lab.probe import Answer, ask

PATIENCE_S = 600.0  # large trees take long to check out
# They say which repository is meant, and would win over the folder that is asked about (git(1), "The Git Repository").
ELSEWHERE = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY")


def git(where: Path, *words: str, patience: float = PATIENCE_S) -> Answer:
    """What git says about the repository around a folder."""
    quiet = [
        "git",
        "--no-optional-locks",
        "--literal-pathspecs",
        "-c",
        f"core.hooksPath={os.devnull}",
        "-c",
        "core.fsmonitor=false",
    ]
    here = {name: value for name, value in os.environ.items() if name not in ELSEWHERE}
    return ask([*quiet, "-C", str(where), *words], here, patience=patience)
