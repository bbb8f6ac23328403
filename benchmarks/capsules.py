"""Capsules of launches of real programs: do they replay to the captured results, and do planted faults keep their cause when shrunk?

    python benchmarks/capsules.py [--parts replay,shrink,cuda,nan] [--jobs N] [--budget SECONDS] [--device NAME] [--out FILE] [NAME...]

The device is the first that the OpenCL loader gives (OCL_ICD_VENDORS chooses); OpenCL launches are replayed on
--device. `cuda` and `nan` need a GPU, nvcc, PyTorch and CuPy. Lines are written as they come.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock
from typing import TextIO

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "captured"))
import cuda_programs  # noqa: E402
import opencl_programs  # noqa: E402

CLI = [sys.executable, "-m", "gpudx"]
ORIGINS = 15  # of tests/cuda/gpu/nans.cu
FORWARD = HERE / "captured/torch_forward.py"


class Report:
    """Lines, as they come."""

    def __init__(self, to: TextIO | None) -> None:
        self.to, self.lock, self.begin = to, Lock(), time.monotonic()

    def say(self, text: str) -> None:
        with self.lock:
            print(text, flush=True)
            if self.to:
                self.to.write(text + "\n")
                self.to.flush()


def run(*words: object, seconds: float = 200) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run([*map(str, words)], capture_output=True, text=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess([], 124, "", f"stopped after {seconds:.0f} s")


def last(done: subprocess.CompletedProcess[str]) -> str:
    return (done.stdout + done.stderr).strip().split("\n")[-1][:160]


def captured(kernel: str, program: list[object], case: Path) -> tuple[Path | None, str]:
    """The capsule of a program's launch; None, and why."""
    done = run(*CLI, "run", "--case", case, "--capture", kernel, "--", *program)
    found = sorted(case.glob("*.gpucapsule"))
    said = next((one for one in done.stderr.split("\n") if "captured" in one), last(done))
    return (found[0] if found else None), said.removeprefix("gpudx: ")


def replayed(report: Report, where: Path, name: str, kernel: str, program: list[object], *more: str) -> bool:
    """Is the launch captured, and does the replay give the captured results?"""
    path, said = captured(kernel, program, where / name)
    if path is None:
        report.say(f"{name}: NOT CAPTURED: {said}")
        return False
    done = run(*CLI, "replay", path, "--times", 3, *more)
    equal = done.returncode == 0 and done.stdout.startswith("EQUAL")
    details = f"{path.stat().st_size:,} bytes" if equal else done.stdout.strip()[:600] or last(done)
    report.say(f"{name}: {'EQUAL' if equal else 'NOT EQUAL'}; {details}")
    return equal


def shrunk(report: Report, where: Path, name: str, program: list[object], budget: float) -> tuple[float, float] | None:
    """The share of memory and of the file that is left; None: the fault or its cause was lost."""
    from gpudx.capsule import file
    from gpudx.cli.failing import Observer

    path, said = captured(name, program, where / name)
    if path is None:
        report.say(f"{name}: NOT CAPTURED: {said}")
        return None
    observer = Observer("", "", False)
    before = observer.failure(file.read(path))
    done = run(
        *CLI, "shrink", path, "--budget", f"{budget:.0f}s", "--issue", where / f"{name}.md", seconds=budget + 120
    )
    small = path.with_suffix(f".min{file.SUFFIX}")
    if not small.exists():
        report.say(f"{name}: NOT SHRUNK: {last(done)}")
        return None
    after = observer.failure(file.read(small))
    same = before is not None and after is not None and (before.kind, before.marks) == (after.kind, after.marks)
    memory = file.read(small).bytes / file.read(path).bytes
    disk = small.stat().st_size / path.stat().st_size
    source = "with a C program" if small.with_suffix(".c").exists() else "without a C program"
    says = before.says[0] if before else "nothing"
    report.say(
        f"{name}: {'KEPT' if same else 'LOST'}; {memory:.2%} of the memory, {disk:.1%} of the file, {source}; {says}"
    )
    return (memory, disk) if same else None


def in_turn(work: Iterable[Callable[[], object]], jobs: int) -> list[object]:
    with ThreadPoolExecutor(jobs) as pool:
        return [one.result() for one in [pool.submit(each) for each in work]]


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--parts", default="replay,shrink")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--budget", type=float, default=30)
    parser.add_argument("--device", default="")
    parser.add_argument("--out", type=Path)
    parser.add_argument("names", nargs="*")
    asked = parser.parse_args()
    report = Report(asked.out.open("a") if asked.out else None)
    with tempfile.TemporaryDirectory() as folder:
        for part in asked.parts.split(","):
            (where := Path(folder) / part).mkdir()
            PARTS[part](report, where, asked)
    return 0


def chosen(names: Iterable[str], asked: argparse.Namespace) -> list[str]:
    return [one for one in names if not asked.names or one in asked.names]


def opencl_part(report: Report, where: Path, asked: argparse.Namespace) -> None:
    program = [sys.executable, HERE / "captured/opencl_programs.py"]
    kernels = {
        **{name: name for name in opencl_programs.KERNELS},
        **{n: k for n, (k, _) in opencl_programs.LIBRARY.items()},
    }
    names = chosen(kernels, asked)
    more = ["--device", asked.device, "--ulps", "4"] if asked.device else []  # devices round divisions and roots differently
    work = [lambda n=n: replayed(report, where, n, kernels[n], [*program, n], *more) for n in names]
    good = in_turn(work, asked.jobs)
    report.say(f"== OpenCL: {sum(map(bool, good))} of {len(good)} replay to the captured results")


def shrink_part(report: Report, where: Path, asked: argparse.Namespace) -> None:
    program = [sys.executable, HERE / "captured/opencl_programs.py"]
    names = chosen(opencl_programs.FAULTS, asked)
    found = in_turn([lambda n=n: shrunk(report, where, n, [*program, n], asked.budget) for n in names], asked.jobs)
    kept = [one for one in found if isinstance(one, tuple)]
    if kept:
        memory, disk = (statistics.median(one[at] for one in kept) for at in (0, 1))
        report.say(
            f"== shrink: {len(kept)} of {len(found)} keep fault and cause; median {memory:.2%} of the memory, {disk:.1%} of the file"
        )


def cuda_part(report: Report, where: Path, asked: argparse.Namespace) -> None:
    built = cuda_programs.build(where, HERE.parent)
    entries = {name: (kernel, words) for name, kernel, words in cuda_programs.every(built)}
    names = chosen(entries, asked)
    work = [lambda n=n: replayed(report, where, n, entries[n][0], entries[n][1]) for n in names]
    good = in_turn(work, asked.jobs)
    report.say(f"== CUDA: {sum(map(bool, good))} of {len(good)} replay to the captured results")


def nan_part(report: Report, where: Path, asked: argparse.Namespace) -> None:
    """Planted origins of CUDA programs, and what looking for them costs a forward pass of PyTorch."""
    program = where / "nans"
    subprocess.run(["nvcc", "-arch=native", "-o", program, HERE.parent / "tests/cuda/gpu/nans.cu"], check=True)
    good = in_turn([lambda n=n: _origin(report, where, program, n) for n in range(ORIGINS)], asked.jobs)
    report.say(f"== NaN: {sum(map(bool, good))} of {ORIGINS} origins right")
    done = run(*CLI, "run", "--case", where / "clean", "--nan", "--", program, 99)
    report.say(f"a program that makes none: {last(done)}")
    costs = {}
    for name, how in (("plain", None), ("cheap", "--nan=64"), ("full", "--nan")):
        prefix = [*CLI, "run", "--case", where / f"cost-{name}", how, "--"] if how else []
        done = run(*prefix, sys.executable, FORWARD)
        found = re.search(r"([\d.]+) ms", done.stdout)
        costs[name] = float(found[1]) if found else float("nan")
        report.say(f"forward {name}: {done.stdout.strip()}; {last(done)}")
    report.say(f"== cost: cheap {costs['cheap'] / costs['plain']:.2f}x, full {costs['full'] / costs['plain']:.2f}x")


def _origin(report: Report, where: Path, program: Path, number: int) -> bool:
    case = where / f"nan-{number}"
    done = run(*CLI, "run", "--case", case, "--nan", "--", program, number)
    path = case / "first-nan.json"
    if not path.exists():
        report.say(f"origin {number}: NOT FOUND: {last(done)}")
        return False
    found = json.loads(path.read_text())
    right = (found["launch"], found["of_kernel"], "guilty" in found["kernel"], found["before"]) == (6, 1, True, 0)
    report.say(f"origin {number}: {'RIGHT' if right else 'WRONG'}; {'; '.join(found['says'])[:400]}")
    return right


PARTS = {"replay": opencl_part, "shrink": shrink_part, "cuda": cuda_part, "nan": nan_part}
if __name__ == "__main__":
    sys.exit(main())
