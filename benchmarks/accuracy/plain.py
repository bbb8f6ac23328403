"""Builds the planted programs and their twins, runs them plain several times and prints how they ended.

    python benchmarks/accuracy/plain.py --api cuda --runs 3 --jobs 16 --parallel 4 --limit 10 --out $OUT
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
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

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


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--api", choices=planted.APIS, action="append")
    parser.add_argument("--only", default="*", metavar="GLOB", help="only programs with such a name")
    parser.add_argument("--group", choices=("general", "order"), help="only this group of programs")
    parser.add_argument("--runs", type=int, default=5, metavar="N", help="runs of each program [5]")
    parser.add_argument("--twin-runs", type=int, metavar="N", help="runs of each twin, if not as many")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="builds at a time [2]")
    parser.add_argument("--parallel", type=int, default=1, metavar="N", help="programs that are run at a time [1]")
    parser.add_argument("--limit", type=float, default=20.0, metavar="S", help="a run that takes longer hangs [20]")
    parser.add_argument("--out", type=Path, default=Path("build/accuracy"), metavar="FOLDER")
    parser.add_argument("--build-only", action="store_true")
    return parser.parse_args()


def build_all(chosen: list[Planted], jobs: int, folder: Path) -> dict[tuple[str, bool], list[str]]:
    """The commands of all programs and twins that could be built; says which could not."""
    commands: dict[tuple[str, bool], list[str]] = {}
    with ThreadPoolExecutor(jobs) as pool:
        builds = [
            (one, twin, pool.submit(planted.build, one, twin, folder)) for one in chosen for twin in (False, True)
        ]
        for one, twin, future in builds:
            try:
                commands[f"{one.api}/{one.name}", twin] = future.result()
            except subprocess.CalledProcessError as error:
                print(f"{one.path.name}{' (twin)' if twin else ''} cannot be built:\n{error.stderr}", flush=True)
    return commands


def observe(program: Planted, faulty: list[str], twin: list[str], given: argparse.Namespace) -> dict[str, Any]:
    """Runs a program and its twin as often as asked; one hang is enough, since it costs the whole limit."""
    runs: list[Ending] = []
    while len(runs) < given.runs and not any(one.ending == "hang" for one in runs):
        runs.append(run(faulty, program, given.limit, given.out))
    twin_runs = [run(twin, program, given.limit, given.out) for _ in range(given.twin_runs or given.runs)]
    return {
        "program": f"{program.api}/{program.name}",
        "plain": program.plain,
        "says": as_described(program, runs, twin_runs),
        "faulty": [asdict(one) for one in runs],
        "twin": [asdict(one) for one in twin_runs],
    }


def line(record: dict[str, Any]) -> str:
    """One row of the table that is printed."""
    ends = ", ".join(f"{end} x{count}" for end, count in Counter(one["ending"] for one in record["faulty"]).items())
    slowest = max(one["seconds"] for one in (*record["faulty"], *record["twin"]))
    shown = f"{record['faulty'][0]['output']} | {record['twin'][0]['output']}"
    return f"{record['program']:44} {record['plain']:10} {ends:24} {slowest:5.1f} s  {record['says']} | {shown}"


def main() -> int:
    """Build, run, print."""
    given = arguments()
    given.out.mkdir(parents=True, exist_ok=True)
    matching = planted.programs(given.api or planted.APIS, given.only)
    chosen = [one for one in matching if given.group in (None, one.group)]
    commands = build_all(chosen, given.jobs, Path("build/accuracy/programs").resolve())
    wrong = 2 * len(chosen) - len(commands)
    if given.build_only:
        print(f"{len(commands)} of {2 * len(chosen)} built")
        return 1 if wrong else 0
    names = {one: f"{one.api}/{one.name}" for one in chosen}
    ready = [one for one in chosen if (names[one], False) in commands and (names[one], True) in commands]
    with (given.out / "plain.jsonl").open("a") as lines, ThreadPoolExecutor(given.parallel) as pool:
        running = [
            pool.submit(observe, one, commands[names[one], False], commands[names[one], True], given) for one in ready
        ]
        for future in as_completed(running):
            record = future.result()
            wrong += record["says"] != "OK"
            print(line(record), flush=True)
            lines.write(json.dumps(record) + "\n")
            lines.flush()
    print(f"{len(chosen)} programs, {wrong} not as described")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
