"""What PyTorch and CuPy programs cost under gpudx: plain, recorded, with operator names (--stacks), fenced, and under memcheck.

    torch_cost.py [--out FOLDER] [--only NAME...] [--rounds N] [--limit SECONDS] [--memcheck]

Rounds are interleaved: each runs every program once in every mode. FOLDER/torch-cost.jsonl gets each run as it comes, FOLDER/torch-cost.md
the medians after each round. --limit: no run begins after so many seconds.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROGRAMS = {
    "forward": [str(HERE / "torch_forward.py"), "--iterations", "150", "--warm-up", "100"],
    "step": [str(HERE / "torch_train.py"), "--steps", "40"],
    "arrays": [str(HERE / "cupy_arrays.py")],
}
SHORT = {
    "forward": [str(HERE / "torch_forward.py"), "--iterations", "5", "--warm-up", "2"],
    "step": [str(HERE / "torch_train.py"), "--steps", "3"],
    "arrays": [str(HERE / "cupy_arrays.py"), "3"],
}
FENCE = "fence"
MODES: dict[str, tuple[list[str], dict[str, str]] | None] = {
    "plain": None,
    "recorded": ([], {}),
    FENCE: (["--fence"], {}),
    "stacks": (["--stacks"], {}),
}
# Measured once: what a fenced run costs that takes no freed memory out of reach, all of it, and red zones.
ONCE = {
    "fence, no budget": (["--fence"], {"GPUDX_FENCE_BUDGET": "0"}),
    "fence, all": (["--fence"], {"GPUDX_FENCE_BUDGET": "100"}),
    "fence=red": (["--fence=red"], {}),
}
RUN_S = 60
MEMCHECK = "memcheck"


def words_of(name: str, mode: str, case: str) -> tuple[list[str], dict[str, str]]:
    program = [sys.executable, *(SHORT if mode == MEMCHECK else PROGRAMS)[name]]
    how = MODES.get(mode) or ONCE.get(mode)
    if mode == MEMCHECK:
        return [shutil.which("compute-sanitizer") or "compute-sanitizer", "--tool", "memcheck", *program], {}
    if how is None:
        return program, {}
    return [sys.executable, "-m", "gpudx", "run", *how[0], "--case", case, "--", *program], how[1]


def measure(name: str, mode: str) -> dict[str, object]:
    found: dict[str, object] = {"program": name, "mode": mode}
    with tempfile.TemporaryDirectory() as folder:
        words, more = words_of(name, mode, f"{folder}/case")
        begin = time.monotonic()
        try:
            done = subprocess.run(words, capture_output=True, text=True, timeout=RUN_S, check=False, env=os.environ | more)
        except (subprocess.TimeoutExpired, OSError) as error:
            return {**found, "problem": str(error)[:300]}
        found |= {"wall_s": round(time.monotonic() - begin, 2), "status": done.returncode}
        case = Path(folder, "case/case.json")
        if case.exists():
            told = json.loads(case.read_text())
            found["findings"] = [one["id"] for one in told["findings"] if one["severity"] == "error"]
            found["saw"] = [one["saw"] for one in told["instruments"] if one["name"] == "fence"]
            found["not_checked"] = told["not_checked"] if mode.startswith("fence") else []
    lines = [line.split() for line in done.stdout.splitlines() if line.startswith(name)]
    if lines:
        found["us"] = round(float(lines[0][1]) / 1000, 1)
    else:
        found["problem"] = (done.stdout + done.stderr)[-1500:]
    return found


def table(times: dict[tuple[str, str], list[float]]) -> str:
    rows = ["| program | mode | us, median | times plain | runs |", "| --- | --- | ---: | ---: | --- |"]
    for (name, mode), found in times.items():
        plain = times.get((name, "plain"))
        median = statistics.median(found)
        ratio = f"{median / statistics.median(plain):.3f}" if plain else ""
        rows.append(f"| {name} | {mode} | {median:.1f} | {ratio} | {', '.join(f'{one:.0f}' for one in found)} |")
    return "\n".join(rows) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path())
    parser.add_argument("--only", nargs="*", default=list(PROGRAMS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--limit", type=float, default=1e9)
    parser.add_argument("--memcheck", action="store_true")
    options = parser.parse_args()
    first = [(mode, name) for name in options.only for mode in MODES]
    once = [(MEMCHECK, name) for name in options.only[:1] if options.memcheck] + [(m, n) for n in options.only for m in ONCE]
    # One round, then what is measured once, then the other rounds: a limit leaves out repetitions first.
    plan = first + once + first * (options.rounds - 1)
    end = time.monotonic() + options.limit
    times: dict[tuple[str, str], list[float]] = defaultdict(list)
    with (options.out / "torch-cost.jsonl").open("a") as out:
        for mode, name in plan:
            if time.monotonic() > end:
                break
            found = measure(name, mode)
            if isinstance(found.get("us"), float):
                times[name, mode].append(float(str(found["us"])))
            print(json.dumps(found), file=out, flush=True)
            print({key: value for key, value in found.items() if key not in ("saw", "not_checked")}, flush=True)
            (options.out / "torch-cost.md").write_text(table(times))
    print(table(times), flush=True)


if __name__ == "__main__":
    main()
