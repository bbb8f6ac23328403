"""Programs behave the same with the recorder inside: generated from a seed, run plain and recorded with random options.

    python benchmarks/soak.py --save                     200 programs, 10 rounds, over all drivers that are here
    python benchmarks/soak.py --driver pocl --programs 20 --rounds 1

OpenCL runs on PoCL and on Intel's driver for CPUs, CUDA on the fake driver of the tests, HIP on the simulated runtime. Every recorded
run must have the output, exit status and signal of the plain one, and a correct program no finding of severity error. Each
difference is printed with the variables and letters that show it again.
"""

from __future__ import annotations

import contextlib
import os
import random
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from common import HERE, ROOT, Result, Row, arguments, finish

sys.path[:0] = [str(ROOT / "tests/cuda"), str(ROOT / "tests/hip")]

from cuda_kit import OURS  # noqa: E402
from hip_kit import Kit as HipKit  # noqa: E402
from support import opencl  # noqa: E402
from support.builds import shared_folder  # noqa: E402

from gpudx.backends import linking  # noqa: E402
from gpudx.detectors import Run, detect_all  # noqa: E402
from gpudx.facts import derive  # noqa: E402
from gpudx.lab import kernel_checked  # noqa: E402
from gpudx.lab.build import Built, Recipe, build  # noqa: E402
from gpudx.model import Outcome  # noqa: E402
from gpudx.trace import open_trace  # noqa: E402

SOURCES = HERE / "c"
PATIENCE_S = 180
ADDRESS = re.compile(r"\b0x[0-9a-f]{6,}")  # in what a runtime prints at a fault; differs from run to run
Options = tuple[tuple[str, tuple[str, ...]], ...]
OPTIONS: Options = (
    ("GPUDX_FENCE", ("", "", "high", "low", "red")),
    ("GPUDX_POISON", ("", "", "cb", "nan", "zero")),
    ("GPUDX_WATCH", ("", "", "1")),
    ("GPUDX_SERIALISE", ("", "", "1")),
    ("GPUDX_STACKS", ("", "1")),
    ("GPUDX_KEEP", ("", "all")),
    ("GPUDX_CRUMBS", ("", "all", "off")),
    ("GPUDX_PERTURB", ("", "", "", "7")),
    ("GPUDX_BLOCKING_TRANSFERS", ("", "", "", "all")),
)
OPENCL_OPTIONS: Options = (("GPUDX_TURNS", ("", "", "", "1")),)  # not GPUDX_PARTS, which separates buffers by design


@dataclass(frozen=True)
class Case:
    """One program: what it does, letter by letter, and whether that is correct."""

    letters: str
    correct: bool


@dataclass(frozen=True)
class Seen:
    """What the user of a program sees of it."""

    status: int
    output: str
    errors: str


@dataclass(frozen=True)
class Driver:
    """Where programs run: steps of which they are made, ends that are faults, and the environments with and without the recorder."""

    program: Path
    steps: str
    ends: str
    plain: Mapping[str, str]
    recording: Callable[[Path], Mapping[str, str]]
    options: Options = OPTIONS

    def run(self, case: Case, environment: Mapping[str, str]) -> Seen:
        done = subprocess.run(
            [self.program, case.letters],
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            errors="replace",
        )
        return Seen(done.returncode, done.stdout, ADDRESS.sub("ADDRESS", done.stderr))

    def drawn(self, chance: random.Random) -> dict[str, str]:
        picked = {name: chance.choice(values) for name, values in self.options}
        return {name: value for name, value in picked.items() if value}


# ---- drivers ----


@contextlib.contextmanager
def _opencl(name: str, folder: Path) -> Iterator[Driver]:
    kit = opencl.make(folder, shared_folder(), "intel" if name == "intel" else "")
    with kernel_checked.service(kernel_checked.wanted("opencl"), folder) as checks:
        options = OPTIONS + OPENCL_OPTIONS + tuple((k, ("", "", "", v)) for k, v in checks.items())
        program = kit.build([SOURCES / "soak.c"], f"-I{SOURCES}")
        yield Driver(program, "fghabcsrtwpqmeuiox", "XYZKN", kit.plain_environment, kit.recording, options)


@contextlib.contextmanager
def _cuda(folder: Path) -> Iterator[Driver]:
    kit = HipKit(folder, shared_folder())
    flags = ["-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-DBY_DLSYM", f"-I{kit.generated}", f"-I{SOURCES}"]
    reach = f"-I{ROOT / 'tests/cuda/programs'}"
    program = kit.built("soak_cuda", "cc", *flags, reach, SOURCES / "soak_cuda.c", "-ldl", "-lpthread")
    plain = {k: v for k, v in os.environ.items() if k not in OURS} | {"LD_LIBRARY_PATH": str(kit.driver)}
    yield Driver(program, "fghabcsrlyetmiwpqox", "XYZKNED", plain, lambda traces: {**plain, **kit.inside(traces)})


@contextlib.contextmanager
def _hip(folder: Path) -> Iterator[Driver]:
    kit = HipKit(folder, shared_folder())
    sources = ("soak.hip", "soak_kernels.hip")
    recipe = Recipe("soak", sources, ("-g", "-O1", *kit.FLAGS), (), "hipcc", sources[1:])

    def make(place: Path) -> Built:
        place.mkdir()
        for name in (*sources, "soak.h"):
            shutil.copy(SOURCES / name, place)
        return build(recipe, place, linking("hip"))

    made = kit.built_once("soak", make)
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("GPUDX_", "HIP_", "LD_"))}
    plain = clean | made.environment | {"GPUDX_HIP_SIM_DELAY_MS": "0"}
    yield Driver(made.program, "fghabcsryetmiwpqox", "XYZKNEA", plain, lambda traces: {**plain, **kit.inside(traces)})


DRIVERS: Mapping[str, Callable[[Path], contextlib.AbstractContextManager[Driver]]] = {
    "pocl": lambda folder: _opencl("pocl", folder),
    "intel": lambda folder: _opencl("intel", folder),
    "cuda": _cuda,
    "hip": _hip,
}


def missing(name: str) -> str:
    """What the driver needs and is not here; "" if nothing."""
    if name == "intel" and opencl.find_intel() is None:
        return "pip install intel-opencl-rt intel-cmplr-lib-rt, or name their folder in GPUDX_INTEL_OPENCL"
    if name == "hip" and shutil.which("hipcc") is None:
        return "apt install --no-install-recommends hipcc"
    return ""


# ---- the soak ----


def cases(seed: int, count: int, steps: str, ends: str) -> list[Case]:
    """Two of three are correct. Refused calls ('r') are a fault that the program survives."""
    chance = random.Random(seed)
    made = []
    for _ in range(count):
        letters = "".join(chance.choices(steps, k=chance.randint(4, 24)))
        if chance.random() < 1 / 3:
            made.append(Case(letters + chance.choice(ends), False))
        else:
            made.append(Case(letters, "r" not in letters))
    return made


def wrong_findings(traces: Path) -> Iterator[str]:
    for path in sorted(traces.glob("*.gdx")):
        found = detect_all(derive(open_trace(path)), Run(Outcome("passed", "The program ended normally.", 0)))
        yield from (f.message for f in found if f.severity == "error")


def differences(driver: Driver, case: Case, plain: Seen, asked: Mapping[str, str], folder: Path) -> list[str]:
    """What differs in one recorded run, each as a line that says how to see it again."""
    traces = Path(tempfile.mkdtemp(dir=folder))
    again = shlex.join([*(f"{name}={value}" for name, value in asked.items()), driver.program.name, case.letters])
    try:
        recorded = driver.run(case, {**driver.recording(traces), "GPUDX_KEEP": "", **asked})
        if recorded != plain:
            return [f"{again}: {plain} became {recorded}"]
        if not any(traces.glob("*.gdx")):
            return [f"{again}: nothing was recorded"]
        return [f"{again}: {message}" for message in wrong_findings(traces)] if case.correct else []
    finally:
        shutil.rmtree(traces)


def soak(name: str, seed: int, programs: int, rounds: int, folder: Path) -> tuple[int, list[str]]:
    """How many recorded runs there were, and what differed."""
    with DRIVERS[name](folder) as driver, ThreadPoolExecutor(os.cpu_count()) as pool:
        all_cases = cases(seed, programs, driver.steps, driver.ends)
        plain = list(pool.map(lambda case: driver.run(case, driver.plain), all_cases))
        chance = random.Random(seed)
        drawn = [driver.drawn(chance) for _ in range(rounds * programs)]
        todo = zip(all_cases * rounds, plain * rounds, drawn, strict=True)
        found = list(pool.map(lambda one: differences(driver, *one, folder), todo))
    return len(found), [line for lines in found for line in lines]


def main() -> int:
    parser = arguments(__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--programs", type=int, default=200, help="in all, shared by the drivers")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--driver", action="append", choices=list(DRIVERS))
    given = parser.parse_args()
    os.environ.pop("GPUDX_TEST_OPENCL", None)
    lacking = {name: missing(name) for name in given.driver or DRIVERS}
    here = [name for name, what in lacking.items() if not what]
    result = Result("soak", "Programs with and without the recorder")
    result.remarks += [f"{name} was left out: {what}" for name, what in lacking.items() if what]
    for name in here:
        with tempfile.TemporaryDirectory() as folder:
            count = given.programs // len(here)
            runs, wrong = soak(name, given.seed, count, given.rounds, Path(folder))
        note = f"{count} programs, {given.rounds} rounds"
        result.rows += [
            Row(f"{name}: recorded runs", runs, "", None, note),
            Row(f"{name}: runs that differ", len(wrong), "", 0),
        ]
        print(*wrong[:20], sep="\n", file=sys.stderr)
    return finish(result, given)


if __name__ == "__main__":
    sys.exit(main())
