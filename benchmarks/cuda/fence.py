"""What fences cost and what they find, beside plain runs and memcheck: one table.

    benchmarks/cuda/fence.py [--commit ID] [--sweep SECONDS]

Costs: kernels, allocations and a model's forward pass, in interleaved rounds, as ratios of the medians. Found: each planted fault
is one run of tests/cuda/gpu/fence_past.cu: a read or a write one element behind the end, one page behind it, one element before
the start, or after the free. It is found if the run ended with an illegal address, or the slack was seen to have changed. One
kind of miss has an explanation: a read of the slack that alignment leaves behind the end. The twins touch the last element.
The table goes to stdout and to benchmarks/results/cuda-fence.md.
"""

from __future__ import annotations

import argparse
import itertools
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parents[2] / "src")]

import modes  # noqa: E402
from modes import MEMCHECK, PLAIN, Mode, NotMeasured  # noqa: E402
from run_gpu import RESULTS, facts_now, find_nvcc, has_torch  # noqa: E402

PROGRAMS = modes.ROOT / "tests/cuda/gpu"
FORWARD = modes.ROOT / "benchmarks/cuda/torch_forward.py"
FENCED = "fenced"
ROUNDS, FORWARD_ROUNDS, MEMCHECK_ROUNDS = 5, 3, 1
COSTS = {
    "kernel": ("kernel over 256 MB", "<= 1.02x"),
    "pair_small": ("cudaMalloc + cudaFree of 1000 bytes", "<= 3x"),
    "pair_large": ("cudaMalloc + cudaFree of 256 MB", "<= 3x"),
}
SIZES = (1, 2, 3, 7, 16, 31, 63, 64, 65, 100, 255, 256, 257, 1000, 1024, 4095, 4096, 100_000, 524_288, 1_000_003)
TYPES = {"char": 1, "short": 2, "int": 4, "double": 8, "int4": 16}
PLACES = {
    "1": "one element behind the end",
    "page": "one page behind the end",
    "before": "one element before the start",
}
PLACES |= {"freed": "after the free"}
TWIN = "0"
HOW = ("write", "read")
ALIGN = 256
AT_ONCE = 16
ILLEGAL = "cudaErrorIllegalAddress"
NUMBER = re.compile(r"^(\w+) ([0-9.]+)$", re.MULTILINE)  # among what a tool prints
Row = tuple[str, str, str, str, str]
Numbers = dict[str, float]


@dataclass(frozen=True)
class Planted:
    place: str
    size: int
    type: str
    how: str

    @property
    def in_the_slack(self) -> bool:
        """Behind the end, and not behind the fence."""
        return self.place == "1" and bool(self.size * TYPES[self.type] % ALIGN)


# ---- costs ----


def cost_rows(program: Path) -> Iterator[Row]:
    """Times of kernels and allocations, in each mode."""
    samples = measured([str(program)])
    for name, (title, goal) in COSTS.items():
        yield (title, *cells(samples, lambda numbers, name=name: numbers[name] * 1000), goal)


def forward_row() -> Row:
    """A model whose tensors have a fence each. Its own pool is switched off in the fenced run alone."""
    words = [sys.executable, str(FORWARD), "--iterations", "30", "--warm-up", "20"]
    return (
        "PyTorch forward",
        *cells(measured(words, FORWARD_ROUNDS), lambda numbers: numbers["forward"]),
        "< memcheck",
    )


def measured(command: list[str], rounds: int = ROUNDS) -> dict[str, list[Numbers] | str]:
    """By mode, round by round; or why there is nothing."""
    samples: dict[str, list[Numbers] | str] = {PLAIN: [], FENCED: [], MEMCHECK: []}
    memcheck = next(mode for mode in modes.timed_modes() if mode.name == MEMCHECK)
    for number, mode in itertools.product(range(rounds), (Mode(PLAIN), Mode(FENCED), memcheck)):
        so_far = samples[mode.name]
        if isinstance(so_far, str) or (mode is memcheck and number >= MEMCHECK_ROUNDS):
            continue
        try:
            so_far.append(timed(mode, command))
        except NotMeasured as problem:
            samples[mode.name] = str(problem)
    return samples


def timed(mode: Mode, command: list[str]) -> Numbers:
    """The numbers that a program prints, by name."""
    result = fenced(command) if mode.name == FENCED else modes.run(mode, command).out
    found = dict(NUMBER.findall(result))
    if not found:
        raise NotMeasured("it printed no number")
    return {name: float(value) for name, value in found.items()}


def fenced(command: list[str]) -> str:
    with modes.case_directory() as folder:
        words = modes.recorded_words(modes.recorded_mode(), folder, command, "--quiet", "--fence")
        return modes.run_words(words, modes.gpudx_environment(), folder).out


def cells(samples: dict[str, list[Numbers] | str], ns: Callable[[Numbers], float]) -> tuple[str, str, str]:
    medians = {
        mode: numbers if isinstance(numbers, str) else statistics.median(map(ns, numbers))
        for mode, numbers in samples.items()
    }
    plain, with_fences, memcheck = (medians[mode] for mode in (PLAIN, FENCED, MEMCHECK))
    if isinstance(plain, str):
        return plain, "", ""
    ratios = [one if isinstance(one, str) else f"{one / plain:.2f}x" for one in (with_fences, memcheck)]
    return f"{plain / 1000:.1f} us", ratios[0], ratios[1]


# ---- what is found ----


def neighbour_row(program: Path) -> Row:
    """One element into the next allocation: nothing happens, memcheck sees nothing, the fence stops it."""
    plain = subprocess.run([str(program)], capture_output=True, text=True, check=False).stdout.strip()
    tool = modes.find_sanitizer()
    checked = "compute-sanitizer not found"
    if tool:
        words = [tool, "--tool", "memcheck", "--error-exitcode", "9", str(program)]
        checked = (
            "found" if subprocess.run(words, capture_output=True, check=False).returncode == 9 else "nothing found"
        )
    met = "found" if ILLEGAL in fenced([str(program)]) else "nothing found"
    return ("a write one element into the next allocation", plain, met, checked, "found")


def sweep_rows(program: Path, sweep_s: float) -> Iterator[Row]:
    planted = [Planted(*one) for one in itertools.product((*PLACES, TWIN), SIZES, TYPES, HOW)]
    random.Random(1).shuffle(planted)  # what is left out is spread evenly
    library = os.environ.get("GPUDX_LIB") or modes.gpudx_environment().get("GPUDX_LIB")
    library = library or str(modes.package() / "_native/libgpudx.so")
    ask = partial(is_found, program, str(library), time.monotonic() + sweep_s)
    with ProcessPoolExecutor(AT_ONCE) as pool:
        found = list(pool.map(ask, planted))
    results = {one: told for one, told in zip(planted, found, strict=True) if told is not None}
    for place, how in itertools.product(PLACES, HOW):
        mine = {one: told for one, told in results.items() if (one.place, one.how) == (place, how)}
        yield (f"{how}s {PLACES[place]}", "", f"{sum(mine.values())} of {len(mine)}", "", "")
    missed = [one for one, told in results.items() if not told and one.place != TWIN]
    reads = [one for one in missed if one.how == "read" and one.in_the_slack]
    faults = sum(one.place != TWIN for one in results)
    yield ("all planted faults", "", f"{faults - len(missed)} of {faults}", "", "")
    yield ("not run, for want of time", "", str(len(planted) - len(results)), "", "0")
    yield ("missed: reads of the slack", "", str(len(reads)), "", "")
    yield ("missed otherwise", "", told_of([one for one in missed if one not in reads]), "", "0")
    yield ("alarms on the twins", "", told_of([o for o, told in results.items() if told and o.place == TWIN]), "", "0")


def told_of(some: Sequence[Planted]) -> str:
    return f"{len(some)}{': ' if some else ''}{'; '.join(map(str, some[:5]))}"


def is_found(program: Path, library: str, end: float, planted: Planted) -> bool | None:
    """Was it noticed? A run that ends otherwise than it should counts as one that was not. None: it is too late to begin."""
    if time.monotonic() > end:
        return None
    with tempfile.TemporaryDirectory(prefix="gpudx-fence-") as folder:
        env = os.environ | {
            "LD_PRELOAD": library,
            "GPUDX_DIR": folder,
            "GPUDX_FENCE": "low" if planted.place == "before" else "high",
        }
        words = [str(program), planted.place, str(planted.size), planted.type, planted.how]
        done = subprocess.run(words, env=env, capture_output=True, text=True, timeout=90, check=False)
        return ILLEGAL in done.stdout or damaged(Path(folder))


def damaged(folder: Path) -> bool:
    from gpudx.facts import derive
    from gpudx.trace import open_trace

    return any(derive(open_trace(path)).fences.damages for path in folder.glob("*.gdx"))


# ---- putting it together ----


def build(folder: Path, name: str) -> Path:
    subprocess.run([find_nvcc(), "-O2", "-arch=native", PROGRAMS / f"{name}.cu", "-o", folder / name], check=True)
    return folder / name


def all_rows(times: Path, past: Path, next_door: Path, sweep_s: float) -> Iterator[Row]:
    yield from cost_rows(times)
    if has_torch(sys.executable):
        yield forward_row()
    yield neighbour_row(next_door)
    yield from sweep_rows(past, sweep_s)


def page(rows: Sequence[Row], facts: dict[str, str]) -> str:
    about = "\n".join(f"- {name}: {value}" for name, value in facts.items())
    head = ["| what | plain | fenced | memcheck | goal |", "| --- | ---: | ---: | ---: | ---: |"]
    table = "\n".join([*head, *("| " + " | ".join(row) + " |" for row in rows)])
    note = (
        f"Medians of {ROUNDS} interleaved rounds ({FORWARD_ROUNDS} of the forward pass), {MEMCHECK_ROUNDS} of memcheck."
    )
    planted = f"Planted faults: {len(SIZES)} sizes, {len(TYPES)} element types, multiples of {ALIGN} bytes."
    return f"# Fenced memory on a GPU\n\n{about}\n\n{table}\n\n{note}\n{planted}\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--commit", help="what is measured, where there is no git to ask")
    parser.add_argument("--sweep", type=float, default=400, metavar="S", help="begin no planted fault after S seconds")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="gpudx-bench-") as folder:
        times, past, next_door = (build(Path(folder), name) for name in ("fence_time", "fence_past", "off_by_one"))
        rows = []
        for row in all_rows(times, past, next_door, options.sweep):
            print(*row, sep="; ", file=sys.stderr, flush=True)
            rows.append(row)
    text = page(rows, facts_now(options.commit))
    (RESULTS / "cuda-fence.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
