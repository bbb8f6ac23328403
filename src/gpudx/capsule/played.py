"""What a player of a capsule leaves: a folder with result.json and the contents of buffers after the launch.

The player is a process of its own, because the launch may crash it. It writes down each stage before it begins, so that the last
one tells where it ended.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from gpudx.capsule.model import Bytes

RESULT = "result.json"
PROBLEM = 3  # exit status of a player that could not do it, and says why


@dataclass
class Result:
    """How far a player came."""

    stage: str = "starting"
    device: str = ""
    problem: str = ""  # a sentence: why it could not be played here
    build_log: str = ""
    status: int = 0  # of the launch
    notes: list[str] = field(default_factory=list)
    times_ns: list[int] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)  # per run: the hash of all contents
    code: str = ""  # which form of the program was built

    def write(self, folder: Path) -> None:
        temporary = folder / (RESULT + ".part")
        temporary.write_text(json.dumps(asdict(self)))
        temporary.replace(folder / RESULT)


def read(folder: Path) -> Result:
    """An empty result where the player did not even begin."""
    try:
        said: dict[str, Any] = json.loads((folder / RESULT).read_text())
        return Result(**said)
    except (OSError, ValueError, TypeError):
        return Result()


def keep(folder: Path, contents: dict[int, Bytes]) -> str:
    """Keep what is in the buffers after a run; equal contents are kept once."""
    hashed = hashlib.sha256()
    for number in sorted(contents):
        hashed.update(contents[number].data)
    name = hashed.hexdigest()[:16]
    for number, content in contents.items():
        path = folder / f"{name}.{number}"
        if not path.exists():
            content.tofile(path)
    return name


def outputs(folder: Path, name: str, numbers: list[int]) -> dict[int, Bytes]:
    return {number: np.fromfile(folder / f"{name}.{number}", dtype=np.uint8) for number in numbers}
