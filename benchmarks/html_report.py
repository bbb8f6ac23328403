"""The HTML report of a million launches: how long it takes to make, how large it is, and how soon a browser can be used.

The trace is that of order.py: 64 streams with events between them, here with 40 kernels, and with calls that take 1 to 100
microseconds by chance, as data that cannot be made small by their regularity. Each report is made in a process of its own, as the
command makes it; the browser is a headless Chromium, and its time is from the start of the navigation to the first picture
that can be zoomed. Without a browser only the first two are measured.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from common import ROOT, Result, Row, arguments, finish, median
from numpy.typing import NDArray
from order import LAUNCH, LAUNCHES, PER_ROUND, STREAMS, Program, write

from gpudx import casefile
from gpudx.model import Case, Diagnosis, Evidence, Finding, Guilty, Outcome, ProcessInfo, Site
from gpudx.trace import open_trace

sys.path.append(str(ROOT / "tests"))

from support import browser

KERNELS = 40
MOST_SECONDS, MOST_BYTES, MOST_READY, MOST_ZOOM = 5.0, 15e6, 2.0, 0.25


def case_of(trace: Path, number: int, calls: int, launches: int) -> Case:
    """A case that accuses one launch."""
    site = Site("cuLaunchKernel", number, 100, 1, "cuda")
    finding = Finding("planted", "error", "A planted fault.", (Evidence("It was planted.", (number,)),), site)
    guilty = Guilty("cuda", "cuLaunchKernel", number)
    best = Diagnosis(
        "planted", "confirmed", "A planted fault.", guilty, None, finding.evidence, "", (), "", (finding.fingerprint,)
    )
    process = ProcessInfo(100, 1, "program", str(trace.relative_to(trace.parents[1])), calls, launches)
    return Case(("program",), str(trace.parents[1]), "2026-01-02T03:04:05+00:00", "0", Outcome("exit", "It ended.", 1),
                processes=(process,), findings=(finding,), diagnosis=(best,))  # fmt: skip


def taking_chances(program: Program, calls: NDArray[np.void]) -> NDArray[np.int64]:
    """Gives each launch one of 40 kernels, and each call its nanoseconds."""
    chance = np.random.default_rng(1)
    kernels = [program.world.kernel(f"_Z6work{n:02d}PfPKfi", [8, 8, 4]) for n in range(KERNELS)]
    program.kernel = chance.choice(np.array(kernels, np.uint64), int((calls["what"] == LAUNCH).sum()))
    return np.exp(chance.uniform(np.log(1e3), np.log(1e5), len(calls))).astype(np.int64)


def make(case: Path, target: Path) -> tuple[float, float]:
    """Seconds that the command takes, by the clock and of processors."""
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    begin, before = time.perf_counter(), os.times()
    command = [sys.executable, "-m", "gpudx", "report", case, "--format", "html", "-o", target]
    subprocess.run(command, env=environment, check=True)
    after = os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return time.perf_counter() - begin, used


def opened(report: Path) -> dict[str, float]:
    """Seconds until the page can be used, and for a zoom."""
    with browser.opened(report) as page:
        page.wait_for_selector("html[data-ready]", timeout=60_000)
        ready = float(page.evaluate("document.documentElement.dataset.ready")) / 1000
        zoom = page.evaluate(
            """() => { const { picture } = document.querySelector(".drawn"), begin = performance.now();
                for (let i = 0; i < 8; i++) { picture.zoom(.6); picture.paint(); } return (performance.now() - begin) / 8; }"""
        )
        return {"ready": ready, "zoom": float(zoom) / 1000}


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("--launches", type=int, default=LAUNCHES)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--keep", type=Path, help="write the report there too")
    options = parser.parse_args()
    rounds = max(options.launches // (STREAMS * PER_ROUND), 2)
    with tempfile.TemporaryDirectory(prefix="gpudx-bench-") as name:
        folder, target = Path(name), Path(name) / "report.html"
        subprocess.run([sys.executable, ROOT / "tools/generate.py", ROOT / "schema", folder], check=True)
        (folder / "case/traces").mkdir(parents=True)
        program = Program((folder / "schema.json").read_text())
        calls = program.calls(rounds, -1)
        trace = write(program, folder / "case/traces/1.gdx", calls, taking_chances(program, calls))
        launches = np.flatnonzero(calls["what"] == LAUNCH)
        guilty = len(open_trace(trace)) - len(calls) + int(launches[len(launches) // 2]) + 1
        casefile.write(case_of(trace, guilty, len(calls), len(launches)), folder / "case")
        seconds = [make(folder / "case", target) for _ in range(options.runs)]
        size = target.stat().st_size
        seen = [opened(target) for _ in range(options.runs)] if browser.missing() is None else []
        if options.keep:
            options.keep.write_bytes(target.read_bytes())
    result = Result("html", "The HTML report of a million launches")
    result.rows = [
        Row("launches", rounds * STREAMS * PER_ROUND / 1e6, "million"),
        Row("making the report, median", median([wall for wall, _ in seconds]), "s", MOST_SECONDS),
        Row("of which processor time", median([used for _, used in seconds]), "s", MOST_SECONDS),
        Row("the file", size / 1e6, "MB", MOST_BYTES / 1e6),
    ]
    if seen:
        result.rows.append(Row("until it can be used, median", median([one["ready"] for one in seen]), "s", MOST_READY))
        result.rows.append(Row("a zoom, median", median([one["zoom"] for one in seen]), "s", MOST_ZOOM))
    else:
        result.remarks.append(f"Not opened: {browser.missing()}.")
    result.remarks.append(f"Load of the machine: {os.getloadavg()[0]:.1f}.")
    return finish(result, options)


if __name__ == "__main__":
    sys.exit(main())
