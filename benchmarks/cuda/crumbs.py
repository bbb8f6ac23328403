"""What breadcrumbs cost, and how well they name planted faults and hangs, on a real GPU.

    crumbs.py FOLDER [--only PART...] [--loads torch|loop...] [--cost S] [--reads S] [--same S] [--fault S] [--hang S]

Results go to FOLDER/crumbs.md and FOLDER/crumbs.json as they come. Each part has a time limit of its own, in seconds; what was not
made within it is counted.

cost: plain and recorded work takes turns in one process with each setting of breadcrumbs (crumbs_turns.cu, torch_forward.py); --loads
    leaves one of the two out.
reads: launches per PyTorch forward pass, and how often the recorder lets the kernel read their arguments (read_calls.c).
same: correct programs print the same with and without the recorder, and no error is found in them.
fault, hang: planted at random launches (crumbs_planted.cu); each is one `gpudx run`, and the case must name the launch. Several run
at once: no cost is measured there.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import inside
from modes import ROOT, gpudx_environment

HERE = Path(__file__).resolve().parent
MODES = {"default": (), "all": ("--crumbs=all",), "off": ("--crumbs=off",)}
TARGETS = {
    ("empty", "default"): 1.06,
    ("10us", "default"): 1.01,
    ("PyTorch forward", "default"): 1.03,
    ("empty", "all"): 1.45,
    ("PyTorch forward", "all"): 1.10,
}
STALL_S, HANG_S = 2, 6
PARTS = {"cost": 150, "reads": 40, "same": 75, "fault": 120, "hang": 60}
LOADS = ["torch", "loop"]
SKIPPED, MISSED_KEPT = 77, 8


@dataclass
class Run:
    """What a program under gpudx printed, and how long after its "planted" line the watchdog spoke."""

    returncode: int
    out: str
    err: str
    stall_after: float | None = None


def gpudx(case: Path, options: Iterable[str], *command: str | Path, limit: float = 90, **more: str) -> Run:
    """One recorded run; stopped by SIGTERM after `limit` seconds, as a user would, and then it still reports."""
    words = [sys.executable, "-m", "gpudx", "run", *options, "--case", str(case), "--", *map(str, command)]
    env = {**os.environ, **gpudx_environment(), **more}
    with subprocess.Popen(words, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        seen: dict[str, float] = {}
        texts: dict[str, list[str]] = {"out": [], "err": []}

        def read(name: str, stream: Any, word: str) -> None:
            for line in stream:
                texts[name].append(line)
                if word in line:
                    seen.setdefault(word, time.monotonic())

        readers = [
            threading.Thread(target=read, args=("out", running.stdout, "planted")),
            threading.Thread(target=read, args=("err", running.stderr, "no progress for")),
        ]
        for reader in readers:
            reader.start()
        try:
            running.wait(limit)
        except subprocess.TimeoutExpired:
            running.send_signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                running.wait(20)
            running.kill()
        for reader in readers:
            reader.join(10)
        after = seen["no progress for"] - seen["planted"] if len(seen) == 2 else None
        return Run(running.wait(), "".join(texts["out"]), "".join(texts["err"]), after)


# ---- what is written ----


@dataclass
class Report:
    """Everything so far; written anew after each result."""

    folder: Path
    costs: dict[tuple[str, str], list[tuple[float, float, float]]] = field(default_factory=dict)
    same: list[tuple[str, str, str]] = field(default_factory=list)
    rows: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, text: str) -> None:
        with self.lock:
            self.notes.append(f"- {text}")
        self.write()

    def write(self) -> None:
        with self.lock:
            lines = ["# Breadcrumbs on a real GPU", "", *self._costs(), *self._same(), *self._naming(), *self.notes]
            (self.folder / "crumbs.md").write_text("\n".join(lines).rstrip() + "\n")
            left = {"costs": [[*key, *values] for key, values in self.costs.items()], "runs": self.rows}
            (self.folder / "crumbs.json").write_text(json.dumps(left, indent=1) + "\n")

    def _costs(self) -> list[str]:
        lines = [
            "Costs: plain and recorded work in turn in one process, with each setting of breadcrumbs; a ratio is the median of",
            "neighbouring turns, then of the processes (their range is behind it). It has the whole recorder in it.",
            "",
            "| load | crumbs | plain us | recorded us | ratio | range, processes | target |",
            "| --- | --- | ---: | ---: | ---: | --- | --- |",
        ]
        for (load, mode), found in self.costs.items():
            plain, recorded, ratio = (statistics.median(one[i] for one in found) for i in range(3))
            ratios = [one[2] for one in found]
            wanted = TARGETS.get((load, mode))
            told = "" if wanted is None else f"{wanted:.2f}, {'met' if ratio <= wanted else 'not met'}"
            lines.append(
                f"| {load} | {mode} | {plain / 1000:.2f} | {recorded / 1000:.2f} | {ratio:.3f} | "
                f"{min(ratios):.3f} to {max(ratios):.3f}, {len(found)} | {told} |"
            )
        return [*lines, ""] if self.costs else []

    def _same(self) -> list[str]:
        lines = ["| correct program | crumbs | plain and recorded |", "| --- | --- | --- |"]
        return [*lines, *(f"| {name} | {mode} | {told} |" for name, mode, told in self.same), ""] if self.same else []

    def _naming(self) -> list[str]:
        lines = [
            "Naming: planted at a random launch of 50 to 400 in 1 to 16 streams, one `gpudx run` each. `left`: launches and graph",
            "launches that may have been running, by breadcrumbs alone; where several are left, the address in the kernel's log tells",
            "them apart. `named`: the verdict's launch is the planted one.",
            "",
            "| planted | crumbs | runs | among those left | named | another named | not named | left, median | left, most |",
            "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
            *(line for what in ("fault", "hang") for mode in MODES for line in summary(self.rows, what, mode)),
            "",
        ]
        after = sorted(row["stall_after"] - STALL_S for row in self.rows if row.get("stall_after"))
        if after:
            names = sum(bool(row.get("stall_names")) for row in self.rows)
            lines += [
                f"The watchdog (`--stall {STALL_S}`) spoke in {len(after)} hangs, {statistics.median(after):.1f} s after its time in the",
                f"median and {after[-1]:.1f} s at most; it named the kernel in {names}.",
                "",
            ]
        return lines if self.rows else []


def summary(rows: list[dict[str, Any]], what: str, mode: str) -> list[str]:
    mine = [row for row in rows if (row["what"], row["mode"]) == (what, mode)]
    left = [row["left"] for row in mine if "left" in row]
    named = sum("bad" in row and row.get("named") == row["bad"] for row in mine)
    another = sum(row.get("named") not in (None, row.get("bad")) for row in mine)
    if not mine:
        return []
    return [
        f"| {what} | {mode} | {len(mine)} | {sum(bool(r.get('among')) for r in mine)} | {named} | {another} | "
        f"{len(mine) - named - another} | {statistics.median(left) if left else '-'} | {max(left, default='-')} |"
    ]


# ---- cost ----


def build(source: Path, folder: Path) -> Path:
    target = folder / source.stem
    words = ["nvcc", "-O2", "-std=c++17", "-arch=native", "-lineinfo", "-cudart", "static", "-o", target, source, "-ldl"]
    subprocess.run([str(w) for w in words], check=True)
    return target


def costs_of(report: Report, title: str, run: Run) -> None:
    """Lines "LOAD SETTING PLAIN RECORDED RATIO"."""
    found = [words for words in (line.split() for line in run.out.splitlines()) if len(words) == 5 and words[1] in MODES]
    for load, mode, *values in found:
        plain, recorded, ratio = map(float, values)
        report.costs.setdefault((load if title == "loop" else title, mode), []).append((plain, recorded, ratio))
    if run.returncode or not found:
        report.note(f"{title}: ended with {run.returncode}: {run.err.strip()[-300:]}")
    report.write()


def measure(report: Report, work: Path, until: float, loads: list[str]) -> None:
    """Loops and PyTorch in turn, so that whatever the limit leaves has both."""
    offset = inside.offset(Path(os.environ["GPUDX_LIB"]), "gdx_crumbs_setting")
    program = build(HERE / "crumbs_turns.cu", work) if "loop" in loads else Path()
    torch = (sys.executable, HERE / "torch_forward.py", "--turns", "40", "--crumbs", *MODES)
    number = 0
    for number in range(5):
        if time.monotonic() > until - 20:
            break
        left = max(until - time.monotonic(), 20)
        if "torch" in loads:
            costs_of(report, "PyTorch forward", gpudx(work / f"torch-{number}", ("-q",), *torch, limit=left))
        if "loop" in loads and number < 3 and time.monotonic() < until - 10:
            costs_of(report, "loop", gpudx(work / f"loop-{number}", ("-q",), program, "30", str(offset), limit=left))
    if not report.costs:
        report.note(f"no cost could be measured in {number + 1} processes.")


FEW, MANY = 20, 60  # forward passes


def count_reads(report: Report, work: Path) -> None:
    """What two runs of different lengths differ by: what comes before the passes is in both."""
    counter = work / "read_calls.so"
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", counter, HERE / "read_calls.c", "-ldl"], check=True)

    def one(passes: int) -> tuple[int, ...]:
        case, told = work / f"reads-{passes}", work / f"reads-{passes}.txt"
        torch = (sys.executable, HERE / "torch_forward.py", "--warm-up", "3", "--iterations", str(passes))
        run = gpudx(case, ("-q", "--keep=all"), *torch, LD_PRELOAD=str(counter), READ_CALLS=str(told))
        reads = [line.split() for line in told.read_text().splitlines()] if told.exists() else []
        if run.returncode or not reads:
            raise RuntimeError(f"reads: ended with {run.returncode}: {run.err.strip()[-300:]}")
        return (launches_in(case), *(sum(int(words[i]) for words in reads) for i in (1, 2)))

    with ThreadPoolExecutor(2) as pool:
        few, many = pool.map(one, (FEW, MANY))
    launches, below, elsewhere = ((b - a) / (MANY - FEW) for a, b in zip(few, many, strict=True))
    report.note(
        f"One PyTorch forward pass: {launches:.0f} launches; the kernel read arguments {below + elsewhere:.0f} times, "
        f"{below:.0f} of them below the program break."
    )


def launches_in(case: Path) -> int:
    from gpudx.facts import derive
    from gpudx.trace import open_case

    return max(len(derive(trace).launches) for trace in open_case(case))


# ---- correct programs ----


def errors_in(case: Path) -> list[str]:
    data: dict[str, Any] = json.loads((case / "case.json").read_text())
    return [one["id"] for one in data["findings"] if one["severity"] == "error"]


def compare(report: Report, work: Path, name: str, command: list[str | Path]) -> None:
    """Plainly, then with each setting."""
    plain = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=90, check=False)
    if plain.returncode == SKIPPED:
        report.note(f"{name}: {plain.stdout.strip()}")
        return
    for mode in ("default", "all"):
        case = work / f"same-{name}-{mode}"
        run = gpudx(case, ("-q", *MODES[mode]), *command)
        same = (run.returncode, run.out) == (plain.returncode, plain.stdout)
        found = errors_in(case) if (case / "case.json").exists() else ["no case"]
        told = f"differs: {run.returncode}, {run.out[-80:]!r}, {found}, {run.err[-200:]!r}"
        if same and not found and not plain.returncode:
            told = "the same"
        with report.lock:
            report.same.append((name, mode, told.replace("|", "/")))
        report.write()


def correct(report: Report, work: Path, until: float, at_once: int) -> None:
    python: list[tuple[str, list[str | Path]]] = [
        ("PyTorch", [sys.executable, HERE / "torch_smoke.py"]),
        ("PyTorch's output", [sys.executable, HERE / "torch_forward.py", "--digest", "--warm-up", "20"]),
        ("CuPy", [sys.executable, HERE / "cupy_smoke.py"]),
        ("Triton", [sys.executable, HERE / "triton_smoke.py"]),
    ]
    native = ("graph_capture", "multi_stream", "async_alloc")

    def one(job: tuple[str, list[str | Path]] | str) -> None:
        name = job if isinstance(job, str) else job[0]
        if time.monotonic() < until:
            compare(report, work, name, [build(ROOT / "tests/cuda/gpu" / f"{job}.cu", work)] if isinstance(job, str) else job[1])

    at_the_same_time(report, one, [*python, *native], at_once)


# ---- naming ----


def suspects(case: Path) -> tuple[list[int], int | None, str]:
    """Numbers of the launches that a case leaves, among launches and graph launches; the one it names; its status."""
    from gpudx.detectors._device_errors import interval
    from gpudx.facts import derive
    from gpudx.facts.stuck import stuck_fronts, waiting_for_none
    from gpudx.trace import open_case

    data: dict[str, Any] = json.loads((case / "case.json").read_text())
    (trace,) = open_case(case)
    facts = derive(trace)
    work = sorted([*map(int, facts.launches.position[~facts.launches.captured]), *map(int, facts.graphs.position)])
    place = {position: number for number, position in enumerate(work, start=1)}
    found = interval(facts)
    fronts = waiting_for_none(facts, stuck_fronts(facts))
    running = [p for front in fronts for p in front.running]
    if found is not None:
        running = [*(int(facts.launches.position[s.launch]) for s in found.suspects), *found.graphs]
    left = [p for p in running if p in place]
    entry = data["diagnosis"][0] if data["diagnosis"] else {}
    guilty = (entry.get("guilty") or {}).get("number")
    return sorted(place[p] for p in left), place.get(guilty - 1) if guilty else None, entry.get("status", "none")


def planted(program: Path, folder: Path, what: str, seed: int, mode: str) -> dict[str, Any]:
    case = folder / f"{what}-{mode}-{seed}"
    options = [*MODES[mode], *(("--stall", str(STALL_S), "--timeout", str(HANG_S)) if what == "hang" else ())]
    run = gpudx(case, options, program, what, str(seed), limit=60)
    row: dict[str, Any] = {"what": what, "mode": mode, "seed": seed, "returncode": run.returncode}
    if what == "hang":
        stalled = [line for line in run.err.splitlines() if "no progress for" in line]
        row |= {"stall_after": run.stall_after, "stall_names": any("endless" in line for line in stalled), "stalled": stalled}
    try:
        _, bad, kind, streams = next(line for line in run.out.splitlines() if line.startswith("planted")).split()
        left, named, status = suspects(case)
        row |= {"bad": int(bad), "kind": kind, "streams": int(streams), "left": len(left), "named": named, "status": status}
        row["among"] = int(bad) in left
    except Exception as error:  # one run that cannot be read must not end the rest; it counts as a miss
        row |= {"error": f"{type(error).__name__}: {error}", "stderr": run.err[-300:]}
    return row


def keep_missed(report: Report, work: Path) -> None:
    """Some cases that did not name the planted launch, to look at later."""
    missed = [row for row in report.rows if row.get("named") is None or row["named"] != row.get("bad")]
    for row in missed[:MISSED_KEPT]:
        name = f"{row['what']}-{row['mode']}-{row['seed']}"
        with contextlib.suppress(OSError, shutil.Error):
            shutil.copytree(work / name, report.folder / "missed" / name, dirs_exist_ok=True)


def at_the_same_time(report: Report, one: Callable[[Any], None], jobs: list[Any], at_once: int) -> None:
    def guarded(job: Any) -> None:
        try:
            one(job)
        except Exception as error:  # one job must not end the rest
            report.note(f"{job}: {type(error).__name__}: {error}")

    with ThreadPoolExecutor(at_once) as pool:
        list(pool.map(guarded, jobs))


def plant(report: Report, work: Path, jobs: list[tuple[str, int, str]], until: float, at_once: int) -> None:
    program = build(ROOT / "tests/cuda/gpu/crumbs_planted.cu", work)
    made: list[int] = []

    def one(job: tuple[str, int, str]) -> None:
        if time.monotonic() > until:
            return
        row = planted(program, work, *job)
        with report.lock:
            report.rows.append(row)
            made.append(1)
        report.write()

    at_the_same_time(report, one, jobs, at_once)
    keep_missed(report, work)
    if len(made) < len(jobs):
        report.note(f"{len(jobs) - len(made)} of {len(jobs)} planted {jobs[0][0]}s were not run: the time was up.")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", nargs="*", default=list(PARTS), choices=PARTS)
    parser.add_argument("--loads", nargs="*", default=LOADS, choices=LOADS)
    for name, seconds in PARTS.items():
        parser.add_argument(f"--{name}", type=float, default=seconds, metavar="S")
    parser.add_argument("--runs", type=int, default=100, help="planted faults for each of default and all; half as many hangs")
    parser.add_argument("--at-once", type=int, default=13)
    options = parser.parse_args()
    sys.path.insert(0, str(ROOT / "src"))
    options.folder.mkdir(parents=True, exist_ok=True)
    report = Report(options.folder)
    faults = [("fault", seed, mode) for seed in range(options.runs) for mode in ("all", "default")]
    hangs = [("hang", seed, "default") for seed in range(options.runs // 2)]
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        for name in options.only:
            began = time.monotonic()
            until = began + getattr(options, name)
            if name == "cost":
                measure(report, work, until, options.loads)
            elif name == "reads":
                at_the_same_time(report, lambda _: count_reads(report, work), [name], 1)
            elif name == "same":
                correct(report, work, until, options.at_once)
            else:
                plant(report, work, faults if name == "fault" else hangs, until, options.at_once)
            report.note(f"{name}: {time.monotonic() - began:.0f} s")
    print((options.folder / "crumbs.md").read_text())


if __name__ == "__main__":
    main()
