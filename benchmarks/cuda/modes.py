"""The ways in which a benchmark's program is run: plain, recorded, blocking, and under memcheck."""

from __future__ import annotations

import glob
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PLAIN, RECORDED, BLOCKING, MEMCHECK = "plain", "recorded", "CUDA_LAUNCH_BLOCKING=1", "memcheck"
RUN_LIMIT_S = 90
SANITIZER_PLACES = (
    "/usr/local/cuda*/bin/compute-sanitizer",
    "/opt/cuda/bin/compute-sanitizer",
    f"{sysconfig.get_path('purelib')}/nvidia/*/bin/compute-sanitizer",
    f"{sysconfig.get_path('purelib')}/nvidia/*/compute-sanitizer/compute-sanitizer",
)


class NotMeasured(Exception):
    """A run gave no number; the text says why. Goes into the table: a missing number is not a good one."""


@dataclass(frozen=True)
class Mode:
    """Words in front of the program, and variables added to its environment."""

    name: str
    words: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Result:
    """What a run printed, and the case it left if it was recorded."""

    returncode: int
    out: str
    err: str
    case: dict[str, Any] | None = None


def timed_modes() -> list[Mode]:
    """All four; without compute-sanitizer the last one has no words, and `start` refuses it."""
    sanitizer = find_sanitizer()
    memcheck = (sanitizer, "--tool", "memcheck") if sanitizer else ()
    return [Mode(PLAIN), recorded_mode(), Mode(BLOCKING, env={"CUDA_LAUNCH_BLOCKING": "1"}), Mode(MEMCHECK, memcheck)]


def recorded_mode() -> Mode:
    return Mode(RECORDED, (sys.executable, "-m", "gpudx", "run"), gpudx_environment())


def package() -> Path:
    """The gpudx that will run: the one Python finds, else our sources."""
    spec = importlib.util.find_spec("gpudx")
    return Path(spec.origin).resolve().parent if spec and spec.origin else ROOT / "src/gpudx"


def is_source_tree() -> bool:
    return package() == ROOT / "src/gpudx"


def gpudx_environment() -> dict[str, str]:
    """What `python -m gpudx` needs: nothing when it is installed, else our sources and the library in build/."""
    env = {}
    if is_source_tree():
        env["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT / "src"), os.environ.get("PYTHONPATH")]))
    if "GPUDX_LIB" not in os.environ and not (package() / "_native/libgpudx.so").is_file():
        env["GPUDX_LIB"] = str(built_library())
    return env


def built_library() -> Path:
    built = sorted(ROOT.glob("build/**/libgpudx.so"), key=lambda path: path.stat().st_mtime)
    if not built:
        sys.exit("There is no libgpudx.so: install gpudx, build it below build/, or name one in GPUDX_LIB.")
    return built[-1]


def find_sanitizer() -> str | None:
    """compute-sanitizer from PATH, a toolkit or a wheel."""
    found = [path for pattern in SANITIZER_PLACES for path in sorted(glob.glob(pattern))]
    return shutil.which("compute-sanitizer") or (found[-1] if found else None)


@contextmanager
def case_directory() -> Iterator[Path]:
    """A place for one case, taken away afterwards: traces of many runs would fill a disk."""
    with tempfile.TemporaryDirectory(prefix="gpudx-bench-") as folder:
        yield Path(folder) / "case"


def run(mode: Mode, command: list[str]) -> Result:
    """Run `command` in `mode` and wait."""
    if mode.name == RECORDED:
        with case_directory() as folder:
            return run_words(recorded_words(mode, folder, command, "--quiet"), mode.env, folder)
    if mode.name == MEMCHECK and not mode.words:
        raise NotMeasured("compute-sanitizer not found")
    return run_words([*mode.words, *command], mode.env)


def recorded_words(mode: Mode, folder: Path, command: list[str], *options: str) -> list[str]:
    """gpudx keeps the time limit itself, so that a program that hangs is ended together with it."""
    return [*mode.words, *options, "--case", str(folder), "--timeout", str(RUN_LIMIT_S - 10), "--", *command]


def run_words(words: list[str], env: Mapping[str, str], folder: Path | None = None) -> Result:
    with started(words, env, subprocess.PIPE) as running:
        try:
            out, err = running.communicate(timeout=RUN_LIMIT_S)
        except subprocess.TimeoutExpired:
            raise NotMeasured(f"not done in {RUN_LIMIT_S} s") from None
    return Result(running.returncode, out, err, read_case(folder) if folder else None)


@contextmanager
def started(words: list[str], env: Mapping[str, str], stderr: int) -> Iterator[subprocess.Popen[str]]:
    """A program in a session of its own, so that none of its children is left on the device if we give up on it."""
    try:
        running = subprocess.Popen(
            words,
            env={**os.environ, **env},
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            errors="replace",
            start_new_session=True,
        )
    except OSError as error:
        raise NotMeasured(str(error)) from None
    try:
        yield running
    finally:
        if running.poll() is None:
            os.killpg(running.pid, signal.SIGKILL)
            running.wait()


def read_case(folder: Path) -> dict[str, Any] | None:
    try:
        case: dict[str, Any] = json.loads((folder / "case.json").read_text())
    except (OSError, ValueError):
        return None
    return case


def recorded_launches(case: dict[str, Any] | None) -> int:
    """How many launches the recorder saw: the proof that it was there."""
    return sum(process["launches"] for process in (case or {}).get("processes", ()))
