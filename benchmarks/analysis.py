"""Trace to findings: how long and how much memory for millions of recorded calls of a real PoCL program.

Each analysis runs in a process of its own. Memory is anonymous memory at its peak (what the analysis needs) beside the
mapped file (which the system may drop at any time).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from common import PEAK_MEMORY, ROOT, Kit, Result, Row, arguments, build, finish, median, native_kit

CALLS = 10_000_000
MOST_SECONDS = 10.0
MOST_BYTES_PER_CALL = 200.0  # the stated bound of the analysis: 2 GB for 10 million calls

CHILD = f"""{PEAK_MEMORY}
import json, sys, time
from gpudx.facts import derive
from gpudx.model import Outcome
from gpudx.diagnose.findings import find
from gpudx.trace import open_trace

begin = time.perf_counter()
trace = open_trace(Path(sys.argv[1]))
findings = find([derive(trace)], Outcome("passed", ""))
seconds = time.perf_counter() - begin
done.set()
errors = sum(f.severity == "error" for f in findings)
print(json.dumps({{"calls": len(trace), "seconds": seconds, "bytes": peak, "errors": errors}}))
"""


def record(kit: Kit, calls: int) -> Path:
    """Runs the program with every call kept and gives its trace."""
    folder = kit.folder / "traces"
    folder.mkdir()
    program = build(kit, "many_calls", "-lOpenCL")
    subprocess.run([program, str(calls)], env=kit.environment("layer", folder, "all"), check=True)
    return next(folder.glob("*.gdx"))


def analyse(trace: Path) -> dict[str, float]:
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, "-c", CHILD, str(trace)]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return dict(json.loads(done.stdout))


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("--calls", type=int, default=CALLS)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    with native_kit() as kit:
        trace = record(kit, options.calls)
        size = trace.stat().st_size
        runs = [analyse(trace) for _ in range(options.runs)]
    calls = runs[0]["calls"]
    scale = calls / CALLS
    result = Result("analysis", "From a trace to findings")
    result.rows = [
        Row("recorded calls", calls / 1e6, "million"),
        Row("trace to findings, median", median([r["seconds"] for r in runs]), "s", MOST_SECONDS * scale),
        Row("anonymous memory, highest", max(r["bytes"] for r in runs) / calls, "bytes/call", MOST_BYTES_PER_CALL),
        Row("mapped trace file", size / 1e9, "GB"),
        Row("findings of severity error", runs[0]["errors"], "", 0),
    ]
    result.remarks.append(f"{options.runs} analyses, each in a process of its own.")
    return finish(result, options)


if __name__ == "__main__":
    sys.exit(main())
