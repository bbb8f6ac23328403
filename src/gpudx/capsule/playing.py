"""The command line of every player: what is played, where its result goes, and one sentence where it cannot be played."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from gpudx.capsule import played
from gpudx.errors import UserError


class Refused(Exception):
    """It cannot be played here: one sentence."""


@dataclass(frozen=True)
class Asked:
    """What a player is asked to do; `source` and `options` are those of a variant."""

    capsule: Path
    folder: Path
    device: str
    times: int
    trust: bool
    source: Path | None
    options: str


class Player(Protocol):
    result: played.Result

    def play(self, asked: Asked) -> None: ...


def main(words: list[str] | None, player_of: Callable[[Asked], Player]) -> int:
    """Exit status 0: played; 3: it cannot be, result.json says why."""
    parser = argparse.ArgumentParser()
    parser.add_argument("capsule", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--device", default="")
    parser.add_argument("--times", type=int, default=1)
    parser.add_argument("--trust", action="store_true")
    parser.add_argument("--source", type=Path)
    parser.add_argument("--options", default="")
    asked = Asked(**vars(parser.parse_args(words)))
    player = None
    try:
        player = player_of(asked)
        player.play(asked)
    except (Refused, UserError, MemoryError) as error:
        result = player.result if player else played.Result()
        result.problem = str(error) or "there is not enough memory here for what it holds"
        result.write(asked.folder)
        return played.PROBLEM
    return 0
