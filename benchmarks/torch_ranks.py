"""Jobs of two to eight ranks on one GPU in which one rank fails: is it the one that gpudx names as the first?

    torch_ranks.py [--runs N] [--jobs N] [--out FOLDER]      results go to FOLDER/torch-ranks.jsonl as they come
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

PROGRAM = Path(__file__).resolve().parent / "cuda/rank_fault.py"
HOWS = ("index", "raise", "crash")
LIMIT_S = 90


def judge(number: int) -> dict[str, object]:
    ranks, how = 2 + number % 7, HOWS[number % len(HOWS)]
    odd = (number * 5) % ranks
    job = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(ranks), str(PROGRAM), str(odd), how]
    with tempfile.TemporaryDirectory() as folder:
        words = [sys.executable, "-m", "gpudx", "run", "--timeout", "60s", "--case", f"{folder}/case", "--", *job]
        found: dict[str, object] = {"ranks": ranks, "how": how, "odd": odd, "first": None}
        try:
            subprocess.run(words, capture_output=True, timeout=LIMIT_S, check=False)
            case = json.loads(Path(folder, "case/case.json").read_text())
        except (subprocess.TimeoutExpired, OSError) as error:
            return {**found, "problem": str(error)}
    failed = [one for one in case["processes"] if one["rank"] and (one["signal"] or one["status"]) and one["ended_at"] is not None]
    first = min(failed, key=lambda one: one["ended_at"], default=None)
    best = (case["diagnosis"] or [{}])[0]
    return {**found, "first": first and int(first["rank"]), "cause": best.get("cause"), "status": best.get("status")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--jobs", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path())
    options = parser.parse_args()
    right = 0
    with (options.out / "torch-ranks.jsonl").open("a") as out, ThreadPoolExecutor(options.jobs) as pool:
        for one in as_completed([pool.submit(judge, number) for number in range(options.runs)]):
            found = one.result()
            right += found["first"] == found["odd"]
            print(json.dumps(found), file=out, flush=True)
            print(found, flush=True)
    print(f"first failing rank right in {right} of {options.runs}", flush=True)


if __name__ == "__main__":
    main()
