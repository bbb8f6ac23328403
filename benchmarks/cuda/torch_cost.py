"""What PyTorch programs cost under gpudx: plain, recorded, with operator names (--stacks), fenced, and under memcheck.

    torch_cost.py [--out FOLDER] [--only NAME...] [--memcheck]      results go to FOLDER/torch-cost.jsonl as they come
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROGRAMS = {
    "forward": [str(HERE / "torch_forward.py"), "--iterations", "100", "--warm-up", "50"],
    "step": [str(HERE / "torch_train.py"), "--steps", "30"],
}
SHORT = {
    "forward": [str(HERE / "torch_forward.py"), "--iterations", "5", "--warm-up", "2"],
    "step": [str(HERE / "torch_train.py"), "--steps", "3"],
}
MODES: dict[str, list[str] | None] = {
    "plain": None,
    "recorded": [],
    "stacks": ["--stacks"],
    "fence": ["--fence"],
    "fence=red": ["--fence=red"],
}
LIMIT_S = 60


def measure(name: str, mode: str, options: list[str] | None, short: bool = False) -> dict[str, object]:
    program = [sys.executable, *(SHORT if short else PROGRAMS)[name]]
    with tempfile.TemporaryDirectory() as folder:
        words = program
        if mode == "memcheck":
            words = [shutil.which("compute-sanitizer") or "compute-sanitizer", "--tool", "memcheck", *program]
        elif options is not None:
            words = [sys.executable, "-m", "gpudx", "run", *options, "--case", f"{folder}/case", "--", *program]
        begin = time.monotonic()
        try:
            done = subprocess.run(words, capture_output=True, text=True, timeout=LIMIT_S, check=False)
        except subprocess.TimeoutExpired:
            return {"program": name, "mode": mode, "problem": f"no end after {LIMIT_S} s"}
        except OSError as error:
            return {"program": name, "mode": mode, "problem": str(error)}
    lines = [line.split() for line in done.stdout.splitlines() if line.startswith(name)]
    found: dict[str, object] = {"program": name, "mode": mode, "wall_s": round(time.monotonic() - begin, 2), "status": done.returncode}
    if lines:
        found["us"] = round(float(lines[0][1]) / 1000, 1)
    else:
        found["problem"] = done.stderr[-1500:]
    found["said"] = [line for line in done.stderr.splitlines() if line.startswith("gpudx:")][:2]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path())
    parser.add_argument("--only", nargs="*", default=list(PROGRAMS))
    parser.add_argument("--memcheck", action="store_true")
    options = parser.parse_args()
    modes = {**MODES, **({"memcheck": None} if options.memcheck else {})}
    plain: dict[str, float] = {}
    with (options.out / "torch-cost.jsonl").open("a") as out:
        for mode, words in modes.items():
            for name in options.only:
                found = measure(name, mode, words, mode == "memcheck")
                if mode == "plain" and isinstance(found.get("us"), float):
                    plain[name] = float(str(found["us"]))
                if name in plain and isinstance(found.get("us"), float):
                    found["times"] = round(float(str(found["us"])) / plain[name], 3)
                print(json.dumps(found), file=out, flush=True)
                print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
