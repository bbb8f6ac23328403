"""What recording costs on a GPU: every benchmark here, in every mode, in one table.

    run_gpu.py [--quick] [--python PYTHON] [--commit ID]

Plain and recorded work takes turns inside one process (launch_turns.cu, torch_forward.py --turns): from one process to the next
the same loop differs by more than the recorder costs. The other modes are interleaved with plain runs, round by round, and
compared by their medians. The table goes to stdout and to benchmarks/results/cuda.md. GPUDX_OLD_NUMPY may name a folder
with a numpy that the installed numba works with.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import Any

import modes
from modes import BLOCKING, MEMCHECK, PLAIN, RECORDED, Mode, NotMeasured

HERE = Path(__file__).resolve().parent
RESULTS = HERE.parent / "results"
COLUMNS = (PLAIN, RECORDED, BLOCKING, MEMCHECK)
SKIPPED = 77
CRASH_GOAL_S = 3.0
FEWEST_ROUNDS = 3
TITLES = {
    "two_arguments": ("empty launch, 2 arguments", 1.05),
    "eight_arguments": ("empty launch, 8 arguments", 1.05),
    "forward": ("PyTorch transformer forward", 1.03),
}


@dataclass(frozen=True)
class Plan:
    """How much is done. Shares are seconds after which no further round is begun: together about three minutes."""

    rounds: int
    blocking_rounds: int
    memcheck_rounds: int
    launches: int
    forwards: int
    crash_launches: int
    crash_rounds: int
    launch_share_s: float
    forward_share_s: float
    processes: int
    turns: int


FULL = Plan(5, 3, 1, 100_000, 300, 1_000_000, 1, 15, 25, 5, 150)
QUICK = Plan(2, 1, 1, 20_000, 50, 100_000, 1, 10, 15, 1, 40)


@dataclass(frozen=True)
class Benchmark:
    """A program that prints "NAME nanoseconds" lines. memcheck gets a shorter command: it is far slower."""

    names: tuple[str, ...]
    command: list[str]
    short_command: list[str]
    share_s: float


@dataclass
class Samples:
    """Numbers by name and mode, and by mode why there are none."""

    values: dict[tuple[str, str], list[float]] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)

    def add(self, mode: str, numbers: Mapping[str, float]) -> None:
        for name, number in numbers.items():
            self.values.setdefault((name, mode), []).append(number)

    def median(self, name: str, mode: str) -> float | None:
        return statistics.median(self.values[name, mode]) if (name, mode) in self.values else None


@dataclass(frozen=True)
class Row:
    """One line of the table. `samples` is what the medians were taken from, for the file."""

    title: str
    cells: Mapping[str, str]
    goal: str = ""
    samples: tuple[str, ...] = ()


# measuring


def measure(benchmark: Benchmark, plan: Plan, ways: list[Mode]) -> Samples:
    """Round by round, every mode once; odd rounds backwards, so that none is always the first after another."""
    samples, begin = Samples(), time.monotonic()
    for number in range(plan.rounds):
        if number >= min(FEWEST_ROUNDS, plan.rounds) and time.monotonic() - begin > benchmark.share_s:
            break
        for mode in ways if number % 2 == 0 else ways[::-1]:
            if not is_due(mode, number, plan, time.monotonic() - begin > benchmark.share_s):
                continue
            measure_once(benchmark, mode, samples)
    return samples


def is_due(mode: Mode, number: int, plan: Plan, late: bool) -> bool:
    """The slow modes are far from everything else: fewer rounds do, and only the first one when time is short."""
    rounds = {MEMCHECK: plan.memcheck_rounds, BLOCKING: plan.blocking_rounds}.get(mode.name, plan.rounds)
    return number == 0 or (number < rounds and not (late and mode.name in (MEMCHECK, BLOCKING)))


def measure_once(benchmark: Benchmark, mode: Mode, samples: Samples) -> None:
    if mode.name in samples.problems:
        return
    command = benchmark.short_command if mode.name == MEMCHECK else benchmark.command
    try:
        samples.add(mode.name, numbers_of(benchmark, modes.run(mode, command)))
    except NotMeasured as problem:
        samples.problems[mode.name] = str(problem)


def numbers_of(benchmark: Benchmark, result: modes.Result) -> dict[str, float]:
    lines = [line.split() for line in result.out.splitlines()]
    numbers = {words[0]: float(words[1]) for words in lines if len(words) == 2 and words[0] in benchmark.names}
    if result.returncode or set(numbers) != set(benchmark.names):
        raise NotMeasured(f"exit {result.returncode}: {last_line(result)}")
    return numbers


def last_line(result: modes.Result) -> str:
    lines = [line for line in (result.out + "\n" + result.err).splitlines() if line.strip()]
    return lines[-1].strip()[:100] if lines else "no output"


def ratios_inside(command: list[str], names: tuple[str, ...], processes: int) -> dict[str, list[float]]:
    """Plain and recorded work that takes turns inside one process: a ratio for each name and process."""
    found: dict[str, list[float]] = {name: [] for name in names}
    for _ in range(processes):
        told = modes.run(modes.recorded_mode(), command)
        said = dict(words for line in told.out.splitlines() if len(words := line.split()) == 2)
        if told.returncode or not all(f"{name}_ratio" in said for name in names):
            raise NotMeasured(f"exit {told.returncode}: {last_line(told)}")
        for name in names:
            found[name].append(float(said[f"{name}_ratio"]))
    return found


def with_turns(rows: Iterable[Row], command: list[str], names: tuple[str, ...], processes: int) -> Iterator[Row]:
    """The rows with their recorded cells."""
    try:
        ratios, problem = ratios_inside(command, names, processes), ""
    except NotMeasured as why:
        ratios, problem = {name: [] for name in names}, f"not measured: {why}"
    for name, row in zip(names, rows, strict=True):
        cell = problem or f"{statistics.median(ratios[name]):.3f}x"
        told = (f"recorded, process {i}: {ratio:.3f}x" for i, ratio in enumerate(ratios[name], 1))
        yield replace(row, cells={**row.cells, RECORDED: cell}, samples=(*row.samples, *told))


# crash to verdict


def crash_row(program: Path, plan: Plan, *options: str) -> Row:
    """Seconds from the death of the crashing program to the end of `gpudx run`, which prints the verdict last."""
    times, verdict = [], ""
    try:
        for _ in range(plan.crash_rounds):
            seconds, verdict = crash_once(program, plan.crash_launches, *options)
            times.append(seconds)
        cell = f"{statistics.median(times):.2f} s, {verdict}"
    except NotMeasured as problem:
        cell = str(problem)
    title = ", ".join((f"crash to verdict, {plan.crash_launches:,} launches", *options))
    return Row(title, {RECORDED: cell}, f"<= {CRASH_GOAL_S:.0f} s", tuple(f"{one:.2f} s" for one in times))


def crash_once(program: Path, launches: int, *options: str) -> tuple[float, str]:
    mode = modes.recorded_mode()
    with modes.case_directory() as folder:
        words = modes.recorded_words(mode, folder, [str(program), str(launches)], *options)
        with modes.started(words, mode.env, subprocess.DEVNULL) as watched:
            died_at = watch_death(watched)
            watched.wait()
            ended_at = time.monotonic()
        return ended_at - died_at, verdict_of(modes.read_case(folder))


def watch_death(watched: subprocess.Popen[str]) -> float:
    """When the program itself was gone. It says its pid, and later that it failed; from then on we look closely."""
    assert watched.stdout
    told: dict[str, str] = {}
    for line in watched.stdout:
        name, _, value = line.strip().partition(" ")
        told[name] = value
        if "failed_at" in told:
            break
    if "pid" not in told or "failed_at" not in told:
        watched.wait()
        raise NotMeasured(f"the program did not get to its crash (exit {watched.returncode})")
    while is_running(told["pid"]):
        time.sleep(0.002)
    return time.monotonic()


def is_running(pid: str) -> bool:
    """A zombie is dead: it only waits for somebody to take notice."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def verdict_of(case: dict[str, Any] | None) -> str:
    if case is None:
        raise NotMeasured("gpudx left no case")
    best = (case["diagnosis"] or [None])[0]
    if not best:
        return "no verdict"
    kernel = (best.get("guilty") or {}).get("kernel")
    return f"{best['cause']} ({best['status']}), kernel {kernel}"


# correct programs


def smoke_row(script: Path, python: str) -> Row:
    try:
        cell = smoke_cell(modes.run(modes.recorded_mode(), smoke_command(script, python)))
    except NotMeasured as problem:
        cell = str(problem)
    return Row(f"{script.stem.partition('_')[0]} smoke", {RECORDED: cell}, "ok, 0 errors")


def smoke_command(script: Path, python: str) -> list[str]:
    """The numpy is for numba alone, not for gpudx, which has the same interpreter."""
    numpy = os.environ.get("GPUDX_OLD_NUMPY")
    if not numpy or not script.name.startswith("numba"):
        return [python, str(script)]
    path = os.pathsep.join(filter(None, [numpy, os.environ.get("PYTHONPATH", "")]))
    return ["env", f"PYTHONPATH={path}", python, str(script)]


def smoke_cell(result: modes.Result) -> str:
    if result.returncode == SKIPPED:
        return last_line(result)
    if result.returncode or "ok" not in result.out.split():
        return f"exit {result.returncode}: {last_line(result)}"
    if not modes.recorded_launches(result.case):
        return "ok, but the recorder saw no launches"
    severe = [one["id"] for one in (result.case or {})["findings"] if one["severity"] == "error"]
    return f"ok, {len(severe)} errors{': ' if severe else ''}{', '.join(sorted(set(severe)))}"


# the table


def rows_of(benchmark: Benchmark, samples: Samples) -> Iterator[Row]:
    for name in benchmark.names:
        title, goal = TITLES[name]
        plain = samples.median(name, PLAIN)
        cells = {mode: cell_of(samples, name, mode, plain) for mode in COLUMNS}
        taken = [f"{mode}: {spread(numbers)}" for (which, mode), numbers in samples.values.items() if which == name]
        yield Row(title, cells, f"<= {goal:.2f}x", tuple(taken))


def cell_of(samples: Samples, name: str, mode: str, plain: float | None) -> str:
    median = samples.median(name, mode)
    if median is None or mode in samples.problems:
        return samples.problems.get(mode, "not run")
    return microseconds(median) if mode == PLAIN or not plain else f"{median / plain:.2f}x"


def microseconds(nanoseconds: float) -> str:
    return f"{nanoseconds / 1000:.2f} us" if nanoseconds < 1e6 else f"{nanoseconds / 1e6:.3f} ms"


def spread(numbers: list[float]) -> str:
    """Median, extremes and count: a ratio of medians means nothing without them."""
    low, middle, high = min(numbers), statistics.median(numbers), max(numbers)
    return f"{microseconds(middle)} ({microseconds(low)} to {microseconds(high)}, {len(numbers)} runs)"


def table(rows: list[Row]) -> str:
    """Markdown, with columns of equal width so that it reads well on a terminal, too."""
    lines = [["", *COLUMNS, "goal"]]
    lines += [[row.title, *(row.cells.get(column, "") for column in COLUMNS), row.goal] for row in rows]
    lines = [[cell.replace("|", "/") for cell in line] for line in lines]
    widths = [max(3, *(len(line[i]) for line in lines)) for i in range(len(lines[0]))]
    lines.insert(1, ["-" * width for width in widths])
    padded = ([cell.ljust(width) for cell, width in zip(line, widths, strict=True)] for line in lines)
    return "\n".join("| " + " | ".join(line) + " |" for line in padded)


def page(rows: list[Row], facts: Mapping[str, str]) -> str:
    about = "\n".join(f"- {name}: {value}" for name, value in facts.items())
    taken = "\n".join(line for row in rows for line in sample_lines(row))
    return f"# CUDA, {facts['date']}\n\n{about}\n\n{table(rows)}\n\nMedians and ranges:\n\n{taken}\n"


def sample_lines(row: Row) -> list[str]:
    return [f"- {row.title}", *(f"  - {one}" for one in row.samples)] if row.samples else []


# what it was run on


def facts_now(commit: str | None) -> dict[str, str]:
    device, _, driver = said("nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader").partition(", ")
    return {
        "date": date.today().isoformat(),
        "device": device or "unknown",
        "driver": driver.splitlines()[0] if driver else "unknown",
        "commit": commit or commit_now() or "unknown",
        "gpudx": "source tree" if modes.is_source_tree() else "installed (is it this commit?)",
    }


def commit_now() -> str:
    changed = "-changed" if said("git", "status", "--porcelain", "--untracked-files=no") else ""
    head = said("git", "rev-parse", "--short", "HEAD")
    return head + changed if head else ""


def said(*words: str) -> str:
    """What a command prints, or nothing."""
    try:
        done = subprocess.run(words, capture_output=True, text=True, cwd=HERE, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


# putting it together


def compile_all(folder: Path) -> dict[str, Path]:
    """The .cu programs, side by side: the compiler takes seconds for each."""
    programs = {source.stem: folder / source.stem for source in HERE.glob("*.cu")}
    words = [find_nvcc(), "-O2", "-lineinfo", "-arch=native"]
    running = [subprocess.Popen([*words, str(HERE / f"{name}.cu"), "-o", str(path)]) for name, path in programs.items()]
    ended = [one.wait() for one in running]
    if any(ended):
        sys.exit("A benchmark does not compile.")
    return programs


def find_nvcc() -> str:
    toolkits = sorted(Path("/usr/local").glob("cuda*/bin/nvcc"))
    nvcc = shutil.which("nvcc") or (str(toolkits[-1]) if toolkits else None)
    return nvcc or sys.exit("There is no nvcc: put the CUDA toolkit's bin folder into PATH.")


def python_with_torch(wanted: str | None) -> str:
    """The wanted interpreter, else this one, else the PATH's: gpudx may live in an environment without torch."""
    if wanted:
        return wanted
    other = shutil.which("python3")
    return other if other and not has_torch(sys.executable) and has_torch(other) else sys.executable


def has_torch(python: str) -> bool:
    look = "import importlib.util, sys; sys.exit(importlib.util.find_spec('torch') is None)"
    return subprocess.run([python, "-c", look]).returncode == 0


def benchmarks(programs: Mapping[str, Path], python: str, plan: Plan) -> list[Benchmark]:
    loop, forward = str(programs["launch_loop"]), [python, str(HERE / "torch_forward.py"), "--iterations"]
    return [
        Benchmark(
            ("two_arguments", "eight_arguments"),
            [loop, str(plan.launches)],
            [loop, str(plan.launches // 10)],
            plan.launch_share_s,
        ),
        Benchmark(
            ("forward",),
            [*forward, str(plan.forwards)],
            [*forward, str(plan.forwards // 10), "--warm-up", "10"],
            plan.forward_share_s,
        ),
    ]


def all_rows(programs: Mapping[str, Path], python: str, plan: Plan) -> Iterator[Row]:
    others = [mode for mode in modes.timed_modes() if mode.name != RECORDED]
    loop, forward = benchmarks(programs, python, plan)
    turns = (
        (loop, [str(programs["launch_turns"]), str(plan.turns)]),
        (forward, [python, str(HERE / "torch_forward.py"), "--turns", str(plan.turns)]),
    )
    for benchmark, command in turns:
        rows = rows_of(benchmark, measure(benchmark, plan, others))
        yield from with_turns(rows, command, benchmark.names, plan.processes)
    yield crash_row(programs["million_launches"], plan)
    yield crash_row(programs["million_launches"], plan, "--dump")
    for script in sorted(HERE.glob("*_smoke.py")):
        yield smoke_row(script, python)


def say(row: Row) -> None:
    """Progress on stderr: a run takes minutes, and stdout is for the table."""
    print(f"{row.title}: {'; '.join(filter(None, row.cells.values()))}", file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a minute or two instead of five, with fewer rounds")
    parser.add_argument("--python", help="the interpreter that has torch [this one, or python3]")
    parser.add_argument("--commit", help="what is measured, where there is no git to ask")
    options = parser.parse_args()
    facts, rows = facts_now(options.commit), list[Row]()
    RESULTS.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="gpudx-bench-") as folder:
        programs = compile_all(Path(folder))
        for row in all_rows(programs, python_with_torch(options.python), QUICK if options.quick else FULL):
            say(row)
            rows.append(row)
            # Row by row: a run that is cut off leaves what it has measured.
            (RESULTS / "cuda.md").write_text(page(rows, facts))
    print(page(rows, facts).partition("\n\nMedians")[0])


if __name__ == "__main__":
    main()
