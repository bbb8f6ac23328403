"""What fences cost and what they find, beside plain runs and memcheck. Prints one table last; takes 150 s at most.

    benchmarks/cuda/fence.py [--seconds 150]

Each planted fault is one run of tests/cuda/gpu/fence_past.cu: a read or a write one element behind the end, one page behind it,
one element before the start, or after the free. "Found": the run ended with an illegal address, or the slack was seen to have
changed. Reads of the slack are not found, and are counted as such.
"""

from __future__ import annotations

import argparse
import itertools
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parents[2] / "src")]

import modes  # noqa: E402
from modes import MEMCHECK, PLAIN, Mode, NotMeasured  # noqa: E402

PROGRAMS = modes.ROOT / "tests/cuda/gpu"
FORWARD = modes.ROOT / "benchmarks/cuda/torch_forward.py"
FENCED = "fenced"
SIZES = (1, 2, 3, 7, 16, 31, 63, 64, 65, 100, 255, 256, 257, 1000, 1024, 4095, 4096, 100_000, 524_288, 1_000_003)
TYPES = ("char", "short", "int", "double", "int4")
PLACES = ("1", "page", "before", "freed")
HOW = ("write", "read")
AT_ONCE = 6
Row = tuple[str, ...]


@dataclass
class Clock:
    """How much time is left."""

    end: float

    @property
    def left(self) -> float:
        return self.end - time.monotonic()


@dataclass(frozen=True)
class Planted:
    place: str
    size: int
    type: str
    how: str
    align: int


def build(folder: Path, name: str) -> Path:
    nvcc = shutil.which("nvcc", path=os.pathsep.join([os.environ.get("PATH", ""), "/usr/local/cuda/bin"]))
    if nvcc is None:
        sys.exit("There is no nvcc here: install the CUDA toolkit.")
    subprocess.run([nvcc, "-O2", "-arch=native", PROGRAMS / f"{name}.cu", "-o", folder / name], check=True)
    return folder / name


def timed(mode: Mode, command: list[str]) -> dict[str, float]:
    """The numbers that a program prints, by name."""
    result = fenced(command) if mode.name == FENCED else modes.run(mode, command).out
    found = dict(line.split() for line in result.splitlines() if len(line.split()) == 2)
    if not found:
        raise NotMeasured("it printed no number")
    return {name: float(value) for name, value in found.items()}


def fenced(command: list[str]) -> str:
    with modes.case_directory() as folder:
        words = modes.recorded_words(modes.recorded_mode(), folder, command, "--quiet", "--fence")
        return modes.run_words(words, modes.gpudx_environment(), folder).out


def all_modes() -> list[Mode]:
    memcheck = [m for m in modes.timed_modes() if m.name == MEMCHECK]
    return [Mode(PLAIN), Mode(FENCED), *memcheck]


def cost_rows(clock: Clock, program: Path) -> Iterator[Row]:
    """Times of kernels and allocations, then of a model, in each mode."""
    measured = {mode.name: attempt(clock, lambda mode=mode: timed(mode, [str(program)])) for mode in all_modes()}
    for name in ("kernel", "pair_small", "pair_large"):
        yield (f"{name}, us", *(shown(measured[mode.name], name, 1) for mode in all_modes()))
    if not has_torch():
        yield ("torch forward, ms", "no torch here", "", "")
        return
    words = [sys.executable, str(FORWARD), "--iterations", "30"]
    uncached = Mode(PLAIN, env={"PYTORCH_CUDA_ALLOC_CONF": "backend:cudaMallocAsync"})
    runs = [attempt(clock, lambda mode=mode: timed(mode, words)) for mode in (Mode(PLAIN), *all_modes()[1:])]
    yield ("torch forward, ms", *(shown(run, "forward", 1e6) for run in runs))
    yield (
        "torch forward without its cache, ms",
        shown(attempt(clock, lambda: timed(uncached, words)), "forward", 1e6),
        "",
        "",
    )


def has_torch() -> bool:
    import importlib.util

    return importlib.util.find_spec("torch") is not None


def attempt(clock: Clock, measure: Callable[[], dict[str, float]]) -> dict[str, float] | str:
    if clock.left < 20:
        return "no time"
    try:
        return measure()
    except NotMeasured as error:
        return str(error)


def shown(measured: dict[str, float] | str, name: str, unit: float) -> str:
    return measured if isinstance(measured, str) else f"{measured[name] / unit:.2f}"


def plan() -> list[Planted]:
    """Small sweeps of everything; the full product would take hours."""
    sizes = [Planted(p, s, "int", h, a) for a in (256, 16) for p in PLACES for h in HOW for s in SIZES]
    types = [Planted(p, 1000, t, "write", 256) for p, t in itertools.product(PLACES, TYPES)]
    return [*types, *sizes]


def is_found(program: Path, library: str, planted: Planted) -> bool | None:
    """Was it noticed? None: the program did not run as it should."""
    with tempfile.TemporaryDirectory(prefix="gpudx-fence-") as folder:
        env = os.environ | {
            "LD_PRELOAD": library,
            "GPUDX_DIR": folder,
            "GPUDX_FENCE": "low" if planted.place == "before" else "high",
            "GPUDX_FENCE_ALIGN": str(planted.align),
        }
        words = [str(program), planted.place, str(planted.size), planted.type, planted.how]
        done = subprocess.run(words, env=env, capture_output=True, text=True, timeout=60, check=False)
        if "cudaErrorIllegalAddress" in done.stdout:
            return True
        return damaged(Path(folder)) if done.stdout == "sync: cudaSuccess\n" else None


def damaged(folder: Path) -> bool:
    from gpudx.facts import derive
    from gpudx.trace import open_trace

    return any(derive(open_trace(path)).fences.damages for path in folder.glob("*.gdx"))


def sweep_rows(clock: Clock, program: Path) -> Iterator[Row]:
    library = (
        os.environ.get("GPUDX_LIB")
        or modes.gpudx_environment().get("GPUDX_LIB")
        or str(modes.package() / "_native/libgpudx.so")
    )
    planted = plan()

    def one(fault: Planted) -> bool | str | None:
        return is_found(program, library, fault) if clock.left > 5 else "no time"

    with ThreadPoolExecutor(AT_ONCE) as pool:
        results = list(zip(planted, pool.map(one, planted), strict=True))
    for align, place, how in itertools.product((256, 16), PLACES, HOW):
        mine = [r for p, r in results if (p.align, p.place, p.how) == (align, place, how)]
        ran = [r for r in mine if r in (True, False)]
        rest = len(mine) - len(ran)
        note = f"{rest} not run" if rest else ""
        yield (f"{how}, {place}, align {align}", f"{sum(r is True for r in ran)} of {len(ran)} found", note, "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=150)
    clock = Clock(time.monotonic() + parser.parse_args().seconds)
    with tempfile.TemporaryDirectory(prefix="gpudx-bench-") as folder:
        programs = [build(Path(folder), name) for name in ("fence_time", "fence_past")]
        rows = [*cost_rows(clock, programs[0]), *sweep_rows(clock, programs[1])]
    print(f"\n| what | {PLAIN} | {FENCED} | {MEMCHECK} |\n| --- | ---: | ---: | ---: |")
    for row in rows:
        print("| " + " | ".join(row) + " |")


if __name__ == "__main__":
    main()
