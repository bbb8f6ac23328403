"""Jobs of two to eight ranks on one GPU in which one rank fails: is it the one that gpudx names as the first?

    torch_ranks.py [--runs N] [--jobs N] [--limit SECONDS] [--out FOLDER]      results go to FOLDER/torch-ranks.jsonl as they come
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

PROGRAM = Path(__file__).resolve().parent / "cuda/rank_fault.py"
HOWS = ("index", "raise", "crash")
LIMIT_S = 90


def judge(number: int, end: float) -> dict[str, object] | None:
    """None: there was no time left."""
    if time.monotonic() > end:
        return None
    ranks, how = 2 + number % 7, HOWS[number % len(HOWS)]
    odd = (number * 5) % ranks
    job = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(ranks), str(PROGRAM), str(odd), how]
    with tempfile.TemporaryDirectory() as folder:
        words = [sys.executable, "-m", "gpudx", "run", "--timeout", "60s", "--case", f"{folder}/case", "--", *job]
        found: dict[str, object] = {"ranks": ranks, "how": how, "odd": odd, "first": None}
        try:
            done = subprocess.run(words, capture_output=True, text=True, timeout=LIMIT_S, check=False)
            case = json.loads(Path(folder, "case/case.json").read_text())
        except (subprocess.TimeoutExpired, OSError) as error:
            return {**found, "problem": str(error)}
    failed = [one for one in case["processes"] if one["rank"] and (one["signal"] or one["status"]) and one["ended_at"] is not None]
    first = min(failed, key=lambda one: one["ended_at"], default=None)
    best = (case["diagnosis"] or [{}])[0]
    screen = done.stderr[done.stderr.rfind("\ngpudx: ") :]
    return {
        **found,
        "first": first and int(first["rank"]),
        "named": f"rank {odd}" in " ".join(screen.lower().split()),
        "cause": best.get("cause"),
        "status": best.get("status"),
        "screen": screen[:1500],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--jobs", type=int, default=3)
    parser.add_argument("--limit", type=float, default=1e9, help="no job begins after so many seconds")
    parser.add_argument("--out", type=Path, default=Path())
    options = parser.parse_args()
    end = time.monotonic() + options.limit
    right = named = ran = 0
    with (options.out / "torch-ranks.jsonl").open("a") as out, ThreadPoolExecutor(options.jobs) as pool:
        for one in as_completed([pool.submit(judge, number, end) for number in range(options.runs)]):
            found = one.result()
            if found is None:
                continue
            ran += 1
            right += found["first"] == found["odd"]
            named += bool(found.get("named"))
            print(json.dumps(found), file=out, flush=True)
            print({name: value for name, value in found.items() if name != "screen"}, flush=True)
    print(f"first failing rank right in {right}, on the first screen in {named} of {ran} jobs ({options.runs} planned)", flush=True)


if __name__ == "__main__":
    main()
