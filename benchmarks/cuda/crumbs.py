"""What breadcrumbs cost, and how well they name planted faults and hangs, on a real GPU.

    crumbs.py FOLDER [--minutes M] [--faults N] [--hangs N]      results go to FOLDER/crumbs.md and FOLDER/crumbs.json as they come

Costs are measured in one process, plain and recorded launches in turn (crumbs_turns.cu, torch_forward.py). Faults and hangs are
planted at random launches (crumbs_planted.cu); each is one `gpudx run`, and the case must name the launch. Several run at once: this
part measures no time.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from modes import ROOT, gpudx_environment

HERE = Path(__file__).resolve().parent
MODES = {"default": (), "all": ("--crumbs=all",), "off": ("--crumbs=off",)}
HANG_S = 2.0


def build(source: Path, folder: Path) -> Path:
    target = folder / source.stem
    words = ["nvcc", "-O2", "-arch=native", "-lineinfo", "-cudart", "static", "-o", target, source, "-ldl"]
    subprocess.run([str(w) for w in words], check=True)
    return target


def gpudx(
    case: Path, options: tuple[str, ...], *command: str | Path, limit: float = 90
) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-m", "gpudx", "run", "-q", *options, "--case", str(case), "--", *map(str, command)]
    env = {**os.environ, **gpudx_environment()}
    return subprocess.run(words, env=env, capture_output=True, text=True, timeout=limit, check=False)


def numbers(text: str) -> dict[str, float]:
    pairs = [line.split() for line in text.splitlines()]
    return {name: float(value) for name, value in (p for p in pairs if len(p) == 2) if value.replace(".", "").isdigit()}


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


def one(program: Path, folder: Path, what: str, seed: int, mode: str) -> dict[str, Any]:
    case = folder / f"{what}-{mode}-{seed}"
    options = (*MODES[mode], *(("--timeout", str(HANG_S + 1)) if what == "hang" else ()))
    done = gpudx(case, options, program, what, str(seed))
    row: dict[str, Any] = {"what": what, "mode": mode, "seed": seed, "returncode": done.returncode}
    try:
        _, bad, kind, streams = next(line for line in done.stdout.splitlines() if line.startswith("planted")).split()
        left, named, status = suspects(case)
        row |= {
            "bad": int(bad),
            "kind": kind,
            "streams": int(streams),
            "left": len(left),
            "named": named,
            "status": status,
        }
        row["among"] = int(bad) in left
        row["first"] = bool(left) and left[0] == int(bad)
    except Exception as error:  # one run that cannot be read must not end the rest; it counts as a miss
        row |= {"error": f"{type(error).__name__}: {error}", "stderr": done.stderr[-300:]}
    return row


def summary(rows: list[dict[str, Any]], what: str, mode: str) -> list[str]:
    mine = [row for row in rows if (row["what"], row["mode"]) == (what, mode)]
    left = [row["left"] for row in mine if "left" in row]
    if not mine:
        return []
    return [
        f"| {what} | {mode} | {len(mine)} | {sum(bool(r.get('among')) for r in mine)} | "
        f"{sum(r.get('named') == r.get('bad') and 'bad' in r for r in mine)} | "
        f"{sum(r.get('named') not in (None, r.get('bad')) for r in mine)} | {sum(bool(r.get('first')) for r in mine)} | "
        f"{statistics.median(left) if left else '-'} | {max(left, default='-')} |"
    ]


# ---- the whole ----


class Report:
    def __init__(self, folder: Path) -> None:
        self.folder, self.costs, self.rows, self.notes = folder, [], [], []
        self.folder.mkdir(parents=True, exist_ok=True)

    costs: list[str]
    rows: list[dict[str, Any]]
    notes: list[str]

    def write(self) -> None:
        naming = [line for what in ("fault", "hang") for mode in MODES for line in summary(self.rows, what, mode)]
        lines = [
            "# Breadcrumbs on a real GPU",
            "",
            "Costs: plain and recorded launches in turn in one process; the ratio is the median of neighbouring turns. It has the whole",
            "recorder in it.",
            "",
            "| load | crumbs | plain us | recorded us | ratio |",
            "| --- | --- | ---: | ---: | ---: |",
            *self.costs,
            "",
            "Naming: planted at a random launch of 50 to 400 in 1 to 16 streams. `named`: the verdict's launch is the bad one; `wrong`:",
            "it is another; `left`: launches that may have been running, by breadcrumbs alone. Where several are left, the address in",
            "the kernel's log tells them apart.",
            "",
            "| planted | crumbs | runs | among those left | named | wrong | oldest left is it | left, median | left, most |",
            "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
            *naming,
            "",
            *self.notes,
        ]
        (self.folder / "crumbs.md").write_text("\n".join(lines) + "\n")
        (self.folder / "crumbs.json").write_text(json.dumps(self.rows, indent=1) + "\n")


def measure(report: Report, work: Path, turns: int) -> None:
    program = build(HERE / "crumbs_turns.cu", work)
    for mode, options in MODES.items():
        done = gpudx(work / f"cost-{mode}", options, program, str(turns))
        found = numbers(done.stdout)
        for name in ("empty", "2us", "5us", "10us", "50us"):
            if f"{name}_ratio" in found:
                plain, recorded = found[f"{name}_plain"] / 1000, found[f"{name}_recorded"] / 1000
                report.costs.append(
                    f"| {name} | {mode} | {plain:.2f} | {recorded:.2f} | {found[f'{name}_ratio']:.3f} |"
                )
        if done.returncode:
            report.notes.append(f"crumbs_turns with {mode} ended with {done.returncode}: {done.stderr[-200:]}")
        report.write()
    for mode, options in MODES.items():
        done = gpudx(work / f"torch-{mode}", options, sys.executable, HERE / "torch_forward.py", "--turns", "20")
        found = numbers(done.stdout)
        if "forward_ratio" in found:
            plain, recorded = found["forward_plain"] / 1000, found["forward_recorded"] / 1000
            report.costs.append(
                f"| PyTorch forward | {mode} | {plain:.1f} | {recorded:.1f} | {found['forward_ratio']:.3f} |"
            )
        else:
            report.notes.append(f"PyTorch with {mode}: not measured ({done.stderr.strip()[-200:]})")
        report.write()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--minutes", type=float, default=4.0)
    parser.add_argument("--faults", type=int, default=100)
    parser.add_argument("--hangs", type=int, default=50)
    parser.add_argument("--turns", type=int, default=30)
    parser.add_argument("--at-once", type=int, default=6)
    options = parser.parse_args()
    sys.path.insert(0, str(ROOT / "src"))
    until = time.monotonic() + 60 * options.minutes
    report, work = Report(options.folder), options.folder / "work"
    work.mkdir(parents=True, exist_ok=True)
    measure(report, work, options.turns)
    program = build(ROOT / "tests/cuda/gpu/crumbs_planted.cu", work)
    jobs = [("fault", seed, mode) for seed in range(options.faults) for mode in ("all", "default")]
    jobs += [("hang", seed, "default") for seed in range(options.hangs)]

    def run(job: tuple[str, int, str]) -> None:
        what, seed, mode = job
        if time.monotonic() < until:
            report.rows.append(one(program, work, what, seed, mode))

    with ThreadPoolExecutor(options.at_once) as pool:
        for number, _ in enumerate(pool.map(run, jobs)):
            if number % 10 == 0:
                report.write()
    missing = len(jobs) - len(report.rows)
    report.notes += [f"{missing} of {len(jobs)} planted runs were not made: the time was up."] if missing else []
    report.write()
    print((options.folder / "crumbs.md").read_text())


if __name__ == "__main__":
    main()
