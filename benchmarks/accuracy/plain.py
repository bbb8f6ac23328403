"""Builds the planted programs and their twins, runs them plain several times and prints how they ended.

    python benchmarks/accuracy/plain.py --api cuda --runs 5 --jobs 16 --out $OUT
    python benchmarks/accuracy/plain.py --api opencl --runs 20 --only 'queue*'

Says OK where the program ends as its header says and every run of the twin exits with 0 and prints the same. A line is written
to plain.jsonl as soon as a program is done. Exit status: 1 if a program is not as described.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import planted
from planted import Planted


@dataclass(frozen=True)
class Ending:
    """How one run ended. `ending` is an exit status, a signal such as "signal 11", or "hang"."""

    ending: str
    output: str
    seconds: float


def run(command: list[str], program: Planted, limit: float, folder: Path) -> Ending:
    """One plain run."""
    began = time.monotonic()
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        env=planted.environment(program),
        cwd=folder,
    )
    try:
        output, _ = process.communicate(timeout=limit)
        ending = f"signal {-process.returncode}" if process.returncode < 0 else str(process.returncode)
    except subprocess.TimeoutExpired:
        process.kill()
        try:  # a process in the driver may take a while to end; what it printed does not matter then
            output, _ = process.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            output = b""
        ending = "hang"
    text = output.decode(errors="replace").strip().splitlines()
    return Ending(ending, text[-1][:70] if text else "", time.monotonic() - began)


def as_described(program: Planted, faulty: list[Ending], twin: list[Ending]) -> str:
    """OK, or what differs from the header."""
    bad = [one for one in twin if one.ending != "0" or one.output != twin[0].output]
    if bad:
        return f"the twin ended with {bad[0].ending} in {len(bad)} of {len(twin)} runs"
    ends = {_kind(one.ending) for one in faulty}
    if program.plain == "sometimes" or ends == {program.plain}:
        return "OK"
    if program.plain in ("silent", "passes") and ends == {"status 0"}:
        return "OK"
    return f"described as {program.plain}, ends with {', '.join(sorted(ends))}"


def _kind(ending: str) -> str:
    return "status 0" if ending == "0" else "hang" if ending == "hang" else "signal" if "signal" in ending else "exit"


def main() -> int:
    """Build, run, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--api", choices=planted.APIS, action="append")
    parser.add_argument("--only", default="*", metavar="GLOB")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--twin-runs", type=int, help="of each twin, if not as many")
    parser.add_argument("--jobs", type=int, default=2, help="builds at a time; runs are made one after the other")
    parser.add_argument("--limit", type=float, default=20.0, metavar="S", help="a run that takes longer hangs")
    parser.add_argument("--out", type=Path, default=Path("build/accuracy"), metavar="FOLDER")
    parser.add_argument("--build-only", action="store_true")
    given = parser.parse_args()

    chosen = planted.programs(given.api or planted.APIS, given.only)
    folder = Path("build/accuracy/programs").resolve()
    given.out.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(given.jobs) as pool:
        builds = [
            (one, twin, pool.submit(planted.build, one, twin, folder)) for one in chosen for twin in (False, True)
        ]
        commands: dict[tuple[str, bool], list[str]] = {}
        for one, twin, future in builds:
            try:
                commands[f"{one.api}/{one.name}", twin] = future.result()
            except subprocess.CalledProcessError as error:
                print(f"{one.path.name}{' (twin)' if twin else ''} cannot be built:\n{error.stderr}", flush=True)
    if given.build_only:
        print(f"{len(commands)} of {len(builds)} built")
        return 0 if len(commands) == len(builds) else 1

    wrong = 2 * len(chosen) - len(commands)
    with (given.out / "plain.jsonl").open("a") as lines:
        for one in chosen:
            key = f"{one.api}/{one.name}"
            if (key, False) not in commands or (key, True) not in commands:
                continue
            faulty: list[Ending] = []
            for _ in range(given.runs):
                faulty.append(run(commands[key, False], one, given.limit, given.out))
                if faulty[-1].ending == "hang":
                    break  # one hang says enough and costs the whole limit
            twin_runs = [
                run(commands[key, True], one, given.limit, given.out) for _ in range(given.twin_runs or given.runs)
            ]
            says = as_described(one, faulty, twin_runs)
            wrong += says != "OK"
            ends = ", ".join(f"{end} x{count}" for end, count in Counter(e.ending for e in faulty).items())
            slow = max(e.seconds for e in (*faulty, *twin_runs))
            print(
                f"{key:44} {one.plain:10} {ends:24} {slow:5.1f} s  {says}  | {faulty[0].output} | {twin_runs[0].output}",
                flush=True,
            )
            record = {
                "program": key,
                "says": says,
                "faulty": [asdict(e) for e in faulty],
                "twin": [asdict(e) for e in twin_runs],
            }
            lines.write(json.dumps(record) + "\n")
            lines.flush()
    print(f"{len(chosen)} programs, {wrong} not as described")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
