"""Programs behave the same with the recorder inside: generated from a seed, run plain and recorded with random options.

    python benchmarks/soak.py --programs 200 --rounds 10 --driver pocl --driver intel

Every recorded run must have the output, exit status and signal of the plain one, and correct programs no finding of severity
error. The first difference is printed with the command that shows it again.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "src")]

from support import opencl  # noqa: E402

from gpudx.detectors import Run, detect_all  # noqa: E402
from gpudx.facts import derive  # noqa: E402
from gpudx.model import Outcome  # noqa: E402
from gpudx.trace import open_trace  # noqa: E402

STEPS = "fghabcsrtwpqm"
ENDS = "XYZKN"
OPTIONS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("GPUDX_FENCE", ("", "", "high", "low", "red")),
    ("GPUDX_POISON", ("", "", "cb", "nan", "zero")),
    ("GPUDX_WATCH", ("", "", "1")),
    ("GPUDX_SERIALISE", ("", "", "1")),
    ("GPUDX_STACKS", ("", "1")),
    ("GPUDX_KEEP", ("", "all")),
)
PATIENCE_S = 120


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


def cases(seed: int, count: int) -> list[Case]:
    """Two of three are correct. Refused calls ('r') are a fault that the program survives."""
    chance = random.Random(seed)
    made = []
    for _ in range(count):
        letters = "".join(chance.choices(STEPS, k=chance.randint(4, 24)))
        if chance.random() < 1 / 3:
            made.append(Case(letters + chance.choice(ENDS), False))
        else:
            made.append(Case(letters, "r" not in letters))
    return made


def run(program: Path, case: Case, environment: Mapping[str, str]) -> Seen:
    done = subprocess.run(
        [program, case.letters],
        env=dict(environment),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        errors="replace",
    )
    return Seen(done.returncode, done.stdout, done.stderr)


def options(chance: random.Random) -> dict[str, str]:
    picked = {name: chance.choice(values) for name, values in OPTIONS}
    return {name: value for name, value in picked.items() if value}


def wrong_findings(traces: Path) -> Iterator[str]:
    for path in sorted(traces.glob("*.gdx")):
        found = detect_all(derive(open_trace(path)), Run(Outcome("passed", "The program ended normally.", 0)))
        yield from (f.message for f in found if f.severity == "error")


@dataclass
class Soak:
    """All programs on one driver."""

    kit: opencl.OpenCL
    program: Path
    folder: Path

    def differences(self, case: Case, plain: Seen, chance: random.Random) -> Iterator[str]:
        asked = options(chance)
        traces = Path(tempfile.mkdtemp(dir=self.folder))
        try:
            environment = self.kit.recording(traces) | {"GPUDX_KEEP": ""} | asked
            recorded = run(self.program, case, environment)
            said = " ".join(f"{name}={value}" for name, value in asked.items()) or "no options"
            if recorded != plain:
                yield f"{case.letters} with {said}: {plain} became {recorded}"
            elif case.correct:
                yield from (f"{case.letters} with {said}: {message}" for message in wrong_findings(traces))
        finally:
            shutil.rmtree(traces)


def soak(driver: str, seed: int, programs: int, rounds: int, folder: Path) -> tuple[int, list[str]]:
    """How many recorded runs there were, and what differed."""
    kit = opencl.make(folder, folder, "intel" if driver == "intel" else "")
    work = Soak(kit, kit.build([ROOT / "benchmarks/c/soak.c"]), folder)
    chance, runs, wrong = random.Random(seed), 0, list[str]()
    all_cases = cases(seed, programs)
    plain = [run(work.program, case, kit.plain_environment) for case in all_cases]
    for _ in range(rounds):
        for case, seen in zip(all_cases, plain, strict=True):
            runs += 1
            wrong += work.differences(case, seen, chance)
    return runs, wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--programs", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--driver", action="append", choices=["pocl", "intel"])
    given = parser.parse_args()
    failed = False
    for driver in given.driver or ["pocl"]:
        with tempfile.TemporaryDirectory() as folder:
            os.environ.pop("GPUDX_TEST_OPENCL", None)
            runs, wrong = soak(driver, given.seed, given.programs, given.rounds, Path(folder))
        print(f"{driver}: {runs:,} recorded runs of {given.programs} programs, {len(wrong)} differ")
        print(*wrong[:20], sep="\n")
        failed |= bool(wrong)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
