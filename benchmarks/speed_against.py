"""How fast traces are analysed, against another version: `git worktree add OTHER COMMIT`, then `speed_against.py OTHER`.

The same traces are analysed by both in turns, each time in a process of its own, by the code that each version's own benchmark runs.
What counts is processor time, which others on the machine change least.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import analysis
import diff
import order
from common import PEAK_MEMORY, ROOT, Kit, Result, Row, arguments, finish, interleaved, median

MOST = 1.05  # times the other's


def child(version: Path, benchmark: str) -> str:
    """The code that a version's benchmark runs in a process of its own, with processor time instead of the clock."""
    found = re.search(r'^CHILD = (f""".*?""")$', (version / f"benchmarks/{benchmark}.py").read_text(), re.M | re.S)
    assert found, benchmark
    return str(eval(found[1], {"PEAK_MEMORY": PEAK_MEMORY})).replace("time.perf_counter", "time.process_time")


def run(version: Path, benchmark: str, *traces: Path) -> Callable[[], dict[str, Any]]:
    environment = os.environ | {"PYTHONPATH": str(version / "src"), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-c", child(version, benchmark), *map(str, traces)]

    def made() -> dict[str, Any]:
        return dict(json.loads(subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout))

    return made


def compared(what: str, rounds: int, other: Path, benchmark: str, *traces: Path) -> list[Row]:
    now, before = interleaved(rounds, run(ROOT, benchmark, *traces), run(other, benchmark, *traces))
    rows = []
    for key, unit, scale in (("seconds", "s", 1.0), ("bytes", "MB", 1e6)):
        values = [median([float(one[key]) for one in runs]) / scale for runs in (now, before)]
        note = f"{values[1]:.2f} {unit} before, {values[0]:.2f} now"
        name = f"{what}, {'processor time' if key == 'seconds' else 'anonymous memory'}"
        rows.append(Row(name, values[0] / values[1], "x the other", MOST if key == "seconds" else None, note))
    return rows


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("other", type=Path, help="a checkout of the other version")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--millions", type=float, default=1.0, help="of launches; ten times as many calls are analysed")
    options = parser.parse_args()
    count, rows = int(options.millions * 1_000_000), []
    with tempfile.TemporaryDirectory(prefix="gpudx-bench-") as name:
        folder = Path(name)
        subprocess.run([sys.executable, ROOT / "tools/generate.py", ROOT / "schema", folder], check=True)
        text = (folder / "schema.json").read_text()
        program = order.Program(text)
        rounds = max(count // (order.STREAMS * order.PER_ROUND), 2)
        streams = order.write(program, folder / "streams.gdx", program.calls(rounds, -1))
        rows += compared(f"{count:,} launches on 64 streams", options.runs, options.other, "order", streams)
        streams.unlink()
        made = diff.launches(count)
        good = diff.write(diff.Program(text), folder / "good.gdx", made)
        bad = diff.write(diff.Program(text), folder / "bad.gdx", diff.changed(made))
        rows += compared(f"two runs of {count:,} launches", options.runs, options.other, "diff", good, bad)
        good.unlink()
        bad.unlink()
        (folder / "kit").mkdir()
        trace = analysis.record(Kit(folder / "kit"), 10 * count)
        rows += compared(f"{10 * count:,} calls to findings", options.runs, options.other, "analysis", trace)
    told = subprocess.run(["git", "-C", options.other, "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True)
    result = Result("speed-against", "Two versions of the analysis", rows)
    result.remarks.append(f"Runs of each version, in turns: {options.runs}; medians. The other: commit {told.stdout.strip()}.")
    result.remarks.append(f"Load of the machine: {os.getloadavg()[0]:.1f}.")
    return finish(result, options)


if __name__ == "__main__":
    sys.exit(main())
