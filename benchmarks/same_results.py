"""Foreign programs give the same results with the recorder inside: pyopencl's own tests, and clpeak.

pyopencl's tests are taken from its source distribution (pip fetches it) in the version that is installed, and run file by
file with and without the recorder; the outcomes are compared test by test. Tests known to crash by themselves are set
aside; where the process dies all the same, the tests next to its death are too, and the rest goes on in a new process.
Tests set aside, and tests that differ, are then run alone, in turn with and without the recorder: one is the same if both
ways had the same set of outcomes (a crash is one).
clpeak runs alternately both ways; its exit status and the list of its figures must be the same; how many figures lie
outside of what they vary anyway is told.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from common import HERE, Kit, Result, Row, arguments, finish, median, native_kit
from native_kit import Way

FILE_TIMEOUT_S = 3600
ALONE_AT_LEAST, ALONE_AT_MOST = 10, 40  # runs of a test alone, each way; the rest only while the two ways differ
PEAK_ROUNDS = 3
# Tests that crash now and then without us. PoCL before 3.1 reads the array given to clEnqueueSVMFree when the command
# runs, although it may be reused as soon as the call returns (github.com/pocl/pocl/pull/1069).
UNSTEADY = ("test_array.py::test_arrays_with_svm_allocators",)
PYTEST = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
Outcomes = dict[str, str]  # by test: passed, failed, skipped, error, or the signal that its process died of


@dataclass
class Recorded:
    """What the traces of some processes hold."""

    calls: int = 0
    trace_bytes: int = 0
    gaps: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)  # findings of severity error: programs that are right have none

    def add(self, traces: Path, returncode: int) -> None:
        """Reads the traces of one process and its children, and removes them."""
        from gpudx.diagnose.findings import find
        from gpudx.facts import derive
        from gpudx.model import Outcome
        from gpudx.trace import open_trace

        facts = [derive(open_trace(path)) for path in sorted(traces.glob("*.gdx"))]
        self.calls += sum(len(one.trace) for one in facts)
        self.trace_bytes += sum(path.stat().st_size for path in traces.glob("*.gdx"))
        self.gaps += [gap.text for one in facts for gap in one.trace.gaps]
        # A test run whose tests fail is no failed program here: each test looks at the errors it provokes.
        outcome = Outcome("signal", "", signal=died_of(returncode)) if returncode < 0 else Outcome("passed", "")
        self.errors += [finding.message for finding in find(facts, outcome) if finding.severity == "error"]
        shutil.rmtree(traces)

    def rows(self, what: str) -> list[Row]:
        """Findings, and whether there was anything to find them in: nothing recorded is not nothing wrong."""
        note = f"{self.calls:,} calls in {self.trace_bytes / 1e6:.0f} MB of traces"
        incomplete = len(self.gaps) + (not self.calls)
        return [
            Row(f"{what}: findings of severity error", len(self.errors), "", 0, note),
            Row(f"{what}: traces that are empty or have gaps", incomplete, "", 0),
        ]

    @property
    def remarks(self) -> list[str]:
        return list(dict.fromkeys([*self.errors, *self.gaps]))


def died_of(returncode: int) -> str:
    return signal.Signals(-returncode).name


# ---- pyopencl ----


def fetch_tests(folder: Path) -> Path:
    """The test folder of the installed pyopencl's source distribution."""
    wanted = f"pyopencl=={version('pyopencl')}"
    command: list[str | Path] = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "-q",
        "--no-deps",
        "--no-binary",
        "pyopencl",
        "-d",
        folder,
        wanted,
    ]
    subprocess.run(command, check=True)
    (archive,) = folder.glob("pyopencl-*.tar.gz")
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="data")
    return archive.with_name(archive.name.removesuffix(".tar.gz")) / "test"


@dataclass(frozen=True)
class Process:
    """One pytest process. `outcomes` has "" for the test that it died in."""

    returncode: int
    outcomes: Outcomes


@dataclass
class FileRun:
    """All tests of one file, in as many processes as it took."""

    aside: set[str]  # what they do is found by running them alone
    outcomes: Outcomes = field(default_factory=dict)
    deaths: list[str] = field(default_factory=list)
    returncode: int = 0  # of the last process
    seconds: float = 0.0
    recorded: Recorded = field(default_factory=Recorded)


def collect(folder: Path, file: str) -> list[str]:
    command = [*PYTEST, "--collect-only", f"--rootdir={folder}", file]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return [line for line in done.stdout.splitlines() if line.startswith(f"{file}::")]


def run_tests(kit: Kit, folder: Path, names: Sequence[str], way: Way, recorded: Recorded) -> Process:
    traces, report = kit.folder / "traces", kit.folder / "outcomes"
    traces.mkdir(exist_ok=True)
    report.write_text("")
    env = {**kit.environment(way, traces, keep="all"), "PYTHONPATH": str(HERE), "OUTCOMES_FILE": str(report)}
    command = [*PYTEST, "-p", "outcomes_plugin", f"--rootdir={folder}", *names]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, timeout=FILE_TIMEOUT_S, check=False)
    recorded.add(traces, done.returncode)
    return Process(done.returncode, dict(map(json.loads, report.read_text().splitlines())))


def run_file(kit: Kit, folder: Path, names: Sequence[str], way: Way) -> FileRun:
    run, begin = FileRun(aside={name for name in names if function_of(name) in UNSTEADY}), time.monotonic()
    while left := [name for name in names if name not in run.outcomes and name not in run.aside]:
        process = run_tests(kit, folder, left, way, run.recorded)
        run.returncode = process.returncode
        run.outcomes |= {name: outcome for name, outcome in process.outcomes.items() if outcome}
        if process.returncode >= 0:
            run.outcomes |= {name: "not run" for name in left if name not in run.outcomes}
            break
        # A thread of the driver may die a moment later than the test that is to blame: both are doubtful, and so are
        # the same tests with other parameters.
        last = list(process.outcomes)[-2:] or left
        functions = {function_of(name) for name in last}
        run.aside |= {name for name in names if function_of(name) in functions}
        run.deaths.append(f"{died_of(process.returncode)} at {last[-1]}")
    run.seconds = time.monotonic() - begin
    return run


def function_of(name: str) -> str:
    return name.partition("[")[0]


def run_alone(kit: Kit, folder: Path, name: str, way: Way, recorded: Recorded) -> str:
    process = run_tests(kit, folder, [name], way, recorded)
    return died_of(process.returncode) if process.returncode < 0 else process.outcomes.get(name, "not run")


@dataclass(frozen=True)
class Alone:
    """The outcomes of one test, run again and again."""

    name: str
    plain: Counter[str]
    recorded: Counter[str]

    @property
    def differs(self) -> bool:
        return self.plain.keys() != self.recorded.keys()

    @property
    def text(self) -> str:
        plain, recorded = (
            ", ".join(f"{count} {outcome}" for outcome, count in sorted(counter.items()))
            for counter in (self.plain, self.recorded)
        )
        return f"{self.name}: plain {plain}; recorded {recorded}"


def settle(kit: Kit, folder: Path, names: Iterable[str], runs: tuple[FileRun, FileRun], way: Way) -> list[Alone]:
    """Runs each test alone both ways; what it did in the whole file counts too, unless it stood next to a death."""
    settled = []
    for name in names:
        known = [[run.outcomes[name]] if name in run.outcomes and name not in run.aside else [] for run in runs]
        alone = Alone(name, Counter(known[0]), Counter(known[1]))
        for number in range(ALONE_AT_MOST):
            if number >= ALONE_AT_LEAST and not alone.differs:
                break
            alone.plain[run_alone(kit, folder, name, "plain", runs[0].recorded)] += 1
            alone.recorded[run_alone(kit, folder, name, way, runs[1].recorded)] += 1
        settled.append(alone)
    return settled


def pyopencl(kit: Kit, result: Result, way: Way, chosen: list[str]) -> None:
    folder = fetch_tests(kit.folder)
    for file in chosen or sorted(path.name for path in folder.glob("test_*.py")):
        names = collect(folder, file)
        plain, recorded = run_file(kit, folder, names, "plain"), run_file(kit, folder, names, way)
        doubtful = [
            name
            for name in names
            if name in plain.aside | recorded.aside or plain.outcomes.get(name) != recorded.outcomes.get(name)
        ]
        alone = settle(kit, folder, doubtful, (plain, recorded), way)
        compare(result, file, plain, recorded, alone)


def compare(result: Result, file: str, plain: FileRun, recorded: FileRun, alone: list[Alone]) -> None:
    same = {name: what for name, what in plain.outcomes.items() if name not in {one.name for one in alone}}
    note = ", ".join(f"{count} {outcome}" for outcome, count in sorted(Counter(same.values()).items()))
    note += f"; {len(alone)} run alone" if alone else ""
    note += f"; {plain.seconds:.0f} s plain, {recorded.seconds:.0f} s recorded"
    differing = sum(one.differs for one in alone)
    result.rows.append(Row(f"pyopencl {file}: outcomes that differ", differing, "tests", 0, note))
    # Where a process died, its status says only that; the tests concerned were compared by running them alone.
    differs = not (plain.deaths or recorded.deaths) and plain.returncode != recorded.returncode
    ends = f"ended with {plain.returncode} plain, {recorded.returncode} recorded"
    result.rows.append(Row(f"pyopencl {file}: exit status differs", int(differs), "", 0, ends))
    result.rows += recorded.recorded.rows(f"pyopencl {file}")
    for way, run in (("plain", plain), ("recorded", recorded)):
        result.remarks += [f"{file}: {way} died of {death}" for death in run.deaths]
    result.remarks += [f"{name}: {what} both ways" for name, what in same.items() if what not in ("passed", "skipped")]
    result.remarks += [one.text for one in alone]
    result.remarks += [f"{file}: {text}" for text in recorded.recorded.remarks]


# ---- clpeak ----


Peak = tuple[int, list[tuple[str, float]]]


def run_peak(kit: Kit, way: Way, recorded: Recorded) -> Peak:
    """Exit status, and the figures in order."""
    traces = kit.folder / "traces"
    traces.mkdir(exist_ok=True)
    done = subprocess.run(
        ["clpeak"], env=kit.environment(way, traces, keep="all"), capture_output=True, text=True, check=False
    )
    recorded.add(traces, done.returncode)
    return done.returncode, [
        (name, float(value)) for name, value in re.findall(r"^\s+([\w() -]+?)\s*:\s*([\d.]+)", done.stdout, re.M)
    ]


def clpeak(kit: Kit, result: Result, way: Way) -> None:
    seen = Recorded()
    plain = [run_peak(kit, "plain", seen)]
    recorded = []
    for _ in range(PEAK_ROUNDS):
        recorded.append(run_peak(kit, way, seen))
        plain.append(run_peak(kit, "plain", seen))
    result.rows += seen.rows("clpeak")
    result.remarks += [f"clpeak: {text}" for text in seen.remarks]
    statuses = {status for status, _ in [*plain, *recorded]}
    names = {tuple(name for name, _ in figures) for _, figures in [*plain, *recorded]}
    result.rows.append(Row("clpeak: exit status differs", len(statuses) - 1, "", 0, f"status {sorted(statuses)}"))
    result.rows.append(Row("clpeak: list of figures differs", len(names) - 1, "", 0, f"{len(plain[0][1])} figures"))
    if len(names) == 1:
        result.rows += _figures(plain, recorded)


def _figures(plain: list[Peak], recorded: list[Peak]) -> list[Row]:
    outside, ratios = 0, []
    for place in range(len(plain[0][1])):
        before, after = ([figures[place][1] for _, figures in runs] for runs in (plain, recorded))
        ratios.append(median(after) / median(before) if median(before) else 1.0)
        spread = max(before) - min(before)
        outside += not min(before) - spread <= median(after) <= max(before) + spread
    note = f"median over all figures {median(ratios):.3f} x plain; noise: what plain runs differ by"
    return [Row("clpeak: figures outside the noise", outside, "", None, note)]


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("--way", choices=["layer", "symbols"], default="layer")
    parser.add_argument("--only", choices=["pyopencl", "clpeak"])
    parser.add_argument("files", nargs="*", help="test files of pyopencl (all)")
    options: argparse.Namespace = parser.parse_args()
    result = Result("same-results", f"The same results with the recorder inside ({options.way})")
    with native_kit() as kit:
        if options.only != "clpeak":
            try:
                pyopencl(kit, result, options.way, options.files)
            except PackageNotFoundError:
                result.remarks.append("pyopencl is not installed: its tests were not run.")
        if options.only != "pyopencl":
            if shutil.which("clpeak"):
                clpeak(kit, result, options.way)
            else:
                result.remarks.append("clpeak is not installed: it was not run.")
    return finish(result, options)


if __name__ == "__main__":
    sys.exit(main())
