"""Planted faults in PyTorch, CuPy and Triton programs: does the first screen name the operator and the user's line?

    torch_faults.py [--how run|investigate] [--jobs N] [--limit SECONDS] [--out FOLDER] [NAME...]

A program of accuracy/programs/torch marks its wrong line with "# HERE" and may name the operator in its first line. Results go to
FOLDER/torch-faults-HOW.jsonl as they come, with the screen.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

PROGRAMS = Path(__file__).resolve().parent / "accuracy/programs/torch"
WAYS = {
    "run": ["run", "--check-indices", "--stacks", "--serialise"],
    "investigate": ["investigate", "--budget", "60s", "--runs", "4"],
}


def expected(program: Path) -> tuple[str, int]:
    """The operator, "" for none, and the line."""
    lines = program.read_text().splitlines()
    (line,) = [number for number, text in enumerate(lines, 1) if text.endswith("# HERE")]
    return lines[0].removeprefix("# operator: ") if lines[0].startswith("# operator: ") else "", line


def judge(program: Path, how: str, limit: float) -> dict[str, object]:
    operator, line = expected(program)
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        words = [sys.executable, "-m", "gpudx", *WAYS[how], "--case", f"{folder}/case", "--", sys.executable, str(program)]
        try:
            done = subprocess.run(words, capture_output=True, text=True, timeout=limit, check=False, cwd=folder)
            screen = "\n" + (done.stderr if how == "run" else done.stdout)
        except subprocess.TimeoutExpired:
            screen = "no end"
        case = Path(folder, "case", "case.json")
        best = (json.loads(case.read_text())["diagnosis"] or [{}])[0] if case.exists() else {}
    own = screen[screen.rfind("\ngpudx: ") :]
    return {
        "program": program.stem,
        "line": f"{program.name}:{line}" in own,
        "operator": operator in " ".join(own.split()) if operator else None,
        "cause": best.get("cause"),
        "status": best.get("status"),
        "s": round(time.monotonic() - begin, 1),
        "screen": own[-3000:],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--how", choices=list(WAYS), default="run")
    parser.add_argument("--jobs", type=int, default=5)
    parser.add_argument("--limit", type=float, default=90)
    parser.add_argument("--out", type=Path, default=Path())
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    programs = [one for one in sorted(PROGRAMS.glob("*.py")) if not options.names or one.stem in options.names]
    right = lines = operators = 0
    with (options.out / f"torch-faults-{options.how}.jsonl").open("a") as out, ThreadPoolExecutor(options.jobs) as pool:
        for one in as_completed([pool.submit(judge, program, options.how, options.limit) for program in programs]):
            found = one.result()
            print(json.dumps(found), file=out, flush=True)
            print({name: value for name, value in found.items() if name != "screen"}, flush=True)
            lines += bool(found["line"])
            operators += found["operator"] is not False
            right += bool(found["line"]) and found["operator"] is not False
    print(f"{options.how}: line {lines}, operator {operators}, both {right} of {len(programs)}", flush=True)


if __name__ == "__main__":
    main()
