"""Starts players of capsules, each in a process of its own, and says how it went."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, get_args

from gpudx.capsule import compare, file, played
from gpudx.capsule.model import Api, Bytes, Capsule

How = Literal["equal", "differs", "unstable", "ran", "refused", "failed", "crashed", "hung", "cannot"]
PATIENCE_S = 120.0
PLAYERS = {api: f"gpudx.backends.{api}.player" for api in get_args(Api)}


@dataclass(frozen=True)
class Replayed:
    """One replay. "ran": it ended, and there is nothing to compare with; "refused": the launch was; "failed": it ended with an
    error; "cannot": this machine cannot play it, `problem` says why."""

    how: How
    device: str = ""
    problem: str = ""
    status: int = 0
    signal: str = ""
    stage: str = ""
    differences: tuple[compare.Difference, ...] = ()
    unlike: int = 0  # runs whose output is not that of the first
    runs: int = 0
    times_ns: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()
    outputs: dict[int, Bytes] = field(default_factory=dict, compare=False, repr=False)


def words(capsule: Path, api: str, folder: Path, more: Sequence[str] = ()) -> list[str]:
    """The command of a player."""
    return [sys.executable, "-m", PLAYERS[api], str(capsule), str(folder), *more]


@contextmanager
def workplace() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="gpudx-replay-") as folder:
        yield Path(folder)


def play(
    capsule: Capsule,
    path: Path | None = None,
    device: str = "",
    times: int = 1,
    trust: bool = False,
    source: Path | None = None,
    options: str = "",
    patience_s: float = PATIENCE_S,
) -> Replayed:
    """Play it once or several times. `source`, `options`: in place of, or behind, the capsule's own."""
    with workplace() as folder:
        if path is None:
            path = folder / f"given{file.SUFFIX}"
            path.write_bytes(file.to_bytes(capsule))
        more = ["--times", str(times), *(["--device", device] if device else []), *(["--trust"] if trust else [])]
        more += [*(["--source", str(source)] if source else []), *([f"--options={options}"] if options else [])]
        try:
            done = subprocess.run(
                words(path, capsule.api, folder, more),
                env=_environment(os.environ),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=patience_s,
                check=False,
            )
            code: int | None = done.returncode
        except subprocess.TimeoutExpired:
            code = None
        return understood(capsule, folder, code)


def _environment(base: Mapping[str, str]) -> dict[str, str]:
    package = str(Path(__file__).parents[2])
    return {**base, "PYTHONPATH": os.pathsep.join(filter(None, [package, base.get("PYTHONPATH", "")]))}


def understood(capsule: Capsule, folder: Path, code: int | None) -> Replayed:
    """What a player left, with how it ended (None: it was stopped)."""
    result = played.read(folder)
    common = {
        "device": result.device,
        "stage": result.stage,
        "status": result.status,
        "times_ns": tuple(result.times_ns),
        "runs": len(result.outputs),
        "notes": tuple(result.notes),
    }
    if code is None:
        return Replayed("hung", **common)  # type: ignore[arg-type]
    if code < 0:
        return Replayed("crashed", signal=signal.Signals(-code).name, **common)  # type: ignore[arg-type]
    if result.problem or code:
        problem = result.problem or f"the player ended with status {code}"
        return Replayed("cannot", problem=problem, **common)  # type: ignore[arg-type]
    if result.status:
        return Replayed("refused" if not result.outputs and not result.times_ns[-1] else "failed", **common)  # type: ignore[arg-type]
    return _compared(capsule, folder, result, common)


def _compared(capsule: Capsule, folder: Path, result: played.Result, common: dict[str, object]) -> Replayed:
    numbers = [one.number for one in capsule.buffers if one.parent is None]
    got = played.outputs(folder, result.outputs[0], numbers)
    unlike = sum(1 for one in result.outputs if one != result.outputs[0])
    expected = {one.number: one.after for one in capsule.buffers if one.after is not None}
    if not expected:
        how: How = "unstable" if unlike else "ran"
        return Replayed(how, unlike=unlike, outputs=got, **common)  # type: ignore[arg-type]
    differences = tuple(compare.compare(capsule, expected, got))
    how = "unstable" if unlike else "differs" if differences else "equal"
    return Replayed(how, differences=differences, unlike=unlike, outputs=got, **common)  # type: ignore[arg-type]
