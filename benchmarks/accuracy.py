"""How often gpudx is right: planted programs and their correct twins under run, run --fence and investigate.

    python benchmarks/accuracy.py --api opencl --mode run --only 'gather*'
    python benchmarks/accuracy.py --jobs 4 --out build/accuracy

Each result is appended to FOLDER/results.jsonl as soon as it is known. The same command again continues where it stopped;
results of another commit of gpudx or of a changed program are measured anew. The table is FOLDER/accuracy.md.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.insert(0, str(HERE / "accuracy"))

import planted  # noqa: E402
from judging import Judgement, judge  # noqa: E402
from planted import Planted  # noqa: E402

MODES = {
    "run": ["run", "--quiet"],
    "fence": ["run", "--quiet", "--fence"],
    "investigate": ["investigate"],
}
TITLES = {"run": "gpudx run", "fence": "gpudx run --fence", "investigate": "gpudx investigate"}
RUN_LIMIT = 30  # seconds; planted programs take about one


@dataclass(frozen=True)
class Task:
    """One run of gpudx: a program or its twin in one mode."""

    program: Planted
    twin: bool
    mode: str

    @property
    def key(self) -> str:
        """Names the task in results.jsonl; changes with the program's text."""
        text = hashlib.sha256(self.program.path.read_bytes()).hexdigest()[:10]
        return f"{self.program.api}/{self.program.name}/{'twin' if self.twin else 'faulty'}/{self.mode}/{text}"


@dataclass(frozen=True)
class Measured:
    """A line of results.jsonl."""

    key: str
    commit: str
    api: str
    program: str
    family: str
    group: str
    mode: str
    twin: bool
    result: str
    why: str
    line_named: bool
    seconds: float


PARTS = ("src", "native", "schema")  # of the checkout, that decide what gpudx reports


def commit() -> str:
    """The last commit that changed gpudx itself, with + if files differ from it."""
    git = ["git", "-C", str(ROOT)]
    last = subprocess.run([*git, "log", "-1", "--format=%h", "--", *PARTS], capture_output=True, text=True, check=False)
    changed = subprocess.run([*git, "status", "--porcelain", *PARTS], capture_output=True, text=True, check=False)
    return (last.stdout.strip() or "unknown") + ("+" if changed.stdout.strip() else "")


def gpudx(arguments: Sequence[str], environment: dict[str, str], limit: float, log: Path) -> None:
    """Runs the gpudx of this checkout. What it and the program print goes into the log; verdicts are read from the case."""
    paths = [str(ROOT / "src"), environment.get("PYTHONPATH", "")]
    environment = environment | {"PYTHONPATH": os.pathsep.join(path for path in paths if path)}
    with log.open("wb") as printed:
        process = subprocess.Popen(
            [sys.executable, "-m", "gpudx", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=printed,
            stderr=printed,
            env=environment,
            start_new_session=True,
        )
    try:
        process.wait(timeout=limit)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)  # the session of this very process: gpudx and the program it runs
        process.wait()


def measure(task: Task, command: Sequence[str], at: str, out: Path, budget: int, keep: bool) -> Measured:
    """Runs gpudx once and judges its case."""
    case = out / "cases" / task.key.replace("/", "-")
    shutil.rmtree(case, ignore_errors=True)
    case.parent.mkdir(parents=True, exist_ok=True)
    options = ["--budget", f"{budget}s"] if task.mode == "investigate" else ["--timeout", str(RUN_LIMIT)]
    limit = 2.0 * budget + 60 if task.mode == "investigate" else RUN_LIMIT + 60.0
    log = case.with_name(case.name + ".log")
    began = time.monotonic()
    gpudx(
        [*MODES[task.mode], *options, "--case", str(case), "--", *command],
        planted.environment(task.program),
        limit,
        log,
    )
    seconds = time.monotonic() - began
    judgement = judge(task.program, _read(case / "case.json"), task.twin)
    if judgement.result == "no case":
        last = log.read_text(errors="replace").strip().splitlines()[-1:]
        judgement = Judgement("no case", last[0] if last else "gpudx printed nothing")
    if not keep:
        shutil.rmtree(case, ignore_errors=True)
        log.unlink()
    return Measured(
        key=task.key,
        commit=at,
        api=task.program.api,
        program=task.program.name,
        family=task.program.family,
        group=task.program.group,
        mode=task.mode,
        twin=task.twin,
        result=judgement.result,
        why=judgement.why,
        line_named=judgement.line_named,
        seconds=round(seconds, 2),
    )


def _read(path: Path) -> dict[str, Any] | None:
    try:
        return dict(json.loads(path.read_text()))
    except (OSError, ValueError):
        return None


def known(results: Path, at: str) -> dict[str, Measured]:
    """The results of this commit that were written before. A cut-off line and a run without a case are measured again."""
    found: dict[str, Measured] = {}
    for line in results.read_text().splitlines() if results.exists() else ():
        try:
            one = Measured(**json.loads(line))
        except (ValueError, TypeError):
            continue
        if one.commit == at and one.result != "no case":
            found[one.key] = one
    return found


def _share(part: int, whole: int) -> str:
    return f"{part} ({100 * part / whole:.0f} %)" if whole else "0"


def _row(name: str, rows: Iterable[Measured]) -> str:
    rows = list(rows)
    faulty = [one for one in rows if not one.twin and one.result not in ("alarm", "clean")]
    correct = [one for one in rows if one.twin or one.result in ("alarm", "clean")]
    count = {
        result: sum(one.result == result for one in faulty)
        for result in ("right", "partial", "silent", "wrong", "no case")
    }
    alarms = sum(one.result == "alarm" for one in correct)
    lines = sum(one.line_named for one in faulty)
    return (
        f"| {name} | {len(faulty)} | {_share(count['right'], len(faulty))} | {count['partial']} | {count['silent']} "
        f"| {count['wrong']} | {count['no case']} | {lines} | {alarms} of {len(correct)} |"
    )


def table(results: Sequence[Measured], at: str) -> str:
    """The report in Markdown."""
    text = [f"# Accuracy on planted programs\n\n{datetime.now(UTC):%Y-%m-%d}, commit {at}.\n"]
    for mode in MODES:
        for api in planted.APIS:
            rows = [one for one in results if one.mode == mode and one.api == api]
            if not rows:
                continue
            times = sorted(one.seconds for one in rows)
            late = times[min(len(times) - 1, int(0.9 * len(times)))]
            text.append(f"## {TITLES[mode]}, {'CUDA' if api == 'cuda' else 'OpenCL'}\n")
            text.append(f"Time per program: median {statistics.median(times):.1f} s, 90th percentile {late:.1f} s.\n")
            text.append(
                "| class | programs | right | partial | silent | wrong | no case | line named | alarms on twins |"
            )
            text.append("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
            for family in sorted({one.family for one in rows}):
                text.append(_row(family, (one for one in rows if one.family == family)))
            for group in sorted({one.group for one in rows}):
                text.append(_row(f"group {group}", (one for one in rows if one.group == group)))
            text.append(_row("**all**", rows) + "\n")
            text += _exceptions(rows)
    return "\n".join(text) + "\n"


def _exceptions(rows: Sequence[Measured]) -> list[str]:
    """What is not right, by name."""
    lines = []
    for result in ("wrong", "alarm", "no case", "partial", "silent"):
        some = sorted((one for one in rows if one.result == result), key=lambda one: one.program)
        if some:
            lines.append(f"{result.capitalize()}:\n")
            lines += [
                f"- {one.program}{' (twin)' if one.twin else ''}{': ' + one.why if one.why else ''}" for one in some
            ]
            lines.append("")
    return lines


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--api", choices=planted.APIS, action="append", help="only this API; may be repeated")
    parser.add_argument("--mode", choices=list(MODES), action="append", help="only this command; may be repeated")
    parser.add_argument("--only", default="*", metavar="GLOB", help="only programs with such a name")
    parser.add_argument("--group", choices=("general", "order"), help="only this group of programs")
    parser.add_argument("--part", choices=("faulty", "twins"), help="only the faulty programs, or only their twins")
    parser.add_argument(
        "--jobs", type=int, default=1, metavar="N", help="programs at a time; more than one distorts times"
    )
    parser.add_argument("--budget", type=int, default=120, metavar="S", help="seconds for each gpudx investigate [120]")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "accuracy", metavar="FOLDER")
    parser.add_argument("--keep-cases", action="store_true", help="leave the cases in FOLDER/cases")
    parser.add_argument("--table", action="store_true", help="only write the table from the results so far")
    return parser.parse_args()


def main() -> int:
    """Measures what is missing and writes the table. Exit status: 1 if a confident verdict was wrong or a twin was accused."""
    given = arguments()
    try:
        programs = [
            one for one in planted.programs(given.api or planted.APIS, given.only) if given.group in (None, one.group)
        ]
    except planted.BadHeader as error:
        print(error, file=sys.stderr)
        return 2
    if not programs:
        print(f"no program matches {given.only!r}; the programs are in {planted.PROGRAMS}", file=sys.stderr)
        return 2
    if any(one.api == "cuda" for one in programs) and not shutil.which("nvcc"):
        print("nvcc is not in PATH: add it, or choose --api opencl", file=sys.stderr)
        return 2
    given.out.mkdir(parents=True, exist_ok=True)
    results, at = given.out / "results.jsonl", commit()
    done = known(results, at)
    twins = {None: (False, True), "faulty": (False,), "twins": (True,)}[given.part]
    tasks = [Task(one, twin, mode) for mode in given.mode or MODES for one in programs for twin in twins]
    missing = [] if given.table else [task for task in tasks if task.key not in done]
    writing = threading.Lock()

    def work(task: Task) -> None:
        try:
            command = planted.build(task.program, task.twin, ROOT / "build" / "accuracy" / "programs")
        except subprocess.CalledProcessError as error:
            print(f"{task.key} cannot be built: {error.stderr.strip().splitlines()[-1:]}", flush=True)
            return
        one = measure(task, command, at, given.out, given.budget, given.keep_cases)
        with writing, results.open("a") as lines:
            lines.write(json.dumps(asdict(one)) + "\n")
            done[one.key] = one
            name = f"{one.api}/{one.program}{' (twin)' if one.twin else ''}"
            print(f"{one.mode:12} {name:46} {one.result:8} {one.seconds:6.1f} s  {one.why}", flush=True)

    with ThreadPoolExecutor(given.jobs) as pool:
        list(pool.map(work, missing))
    chosen = [done[task.key] for task in tasks if task.key in done]
    (given.out / "accuracy.md").write_text(table(chosen, at))
    print(f"{len(chosen)} of {len(tasks)} measured; the table is {given.out / 'accuracy.md'}")
    return 1 if any(one.result in ("wrong", "alarm") for one in chosen) else 0


if __name__ == "__main__":
    sys.exit(main())
