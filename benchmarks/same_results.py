"""Foreign programs give the same results with the recorder inside: pyopencl's own tests, and clpeak.

pyopencl's tests are taken from its source distribution (pip fetches it) in the version that is installed, and run file by
file with and without the recorder; the outcomes are compared test by test. A test that differs is repeated both ways:
only one that never differs the other way round counts. clpeak runs alternately both ways; its exit status and the list
of its figures must be the same, and the figures within what they vary anyway.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tarfile
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from common import Kit, Result, Row, arguments, finish, median, native_kit
from native_kit import Way

FILE_TIMEOUT_S = 3600
REPEATS = 3
PEAK_ROUNDS = 3
PEAK_TESTS = ("--global-bandwidth", "--compute-sp", "--compute-integer", "--transfer-bandwidth", "--kernel-latency")
Outcomes = dict[str, str]


def severe(traces: Path) -> list[str]:
    """What gpudx would call an error in a run that passed; there should be nothing in foreign programs that are right."""
    from gpudx.facts import derive
    from gpudx.model import Outcome
    from gpudx.pipeline import find
    from gpudx.trace import open_trace

    facts = [derive(open_trace(path)) for path in sorted(traces.glob("*.gdx"))]
    return [finding.message for finding in find(facts, Outcome("passed", "")) if finding.severity == "error"]


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
class TestRun:
    """One pytest process."""

    returncode: int
    outcomes: Outcomes
    seconds: float
    trace_bytes: int
    errors: list[str]  # findings of severity error


def run_tests(kit: Kit, folder: Path, selection: Sequence[str], way: Way) -> TestRun:
    traces, report = kit.folder / "traces", kit.folder / "junit.xml"
    traces.mkdir(exist_ok=True)
    report.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={report}", *selection]
    begin = time.monotonic()
    done = subprocess.run(
        command, cwd=folder, env=kit.environment(way, traces), capture_output=True, timeout=FILE_TIMEOUT_S, check=False
    )
    seconds = time.monotonic() - begin
    size, errors = sum(path.stat().st_size for path in traces.glob("*.gdx")), severe(traces)
    shutil.rmtree(traces)
    return TestRun(done.returncode, read_junit(report), seconds, size, errors)


def read_junit(report: Path) -> Outcomes:
    """Test -> passed, failed, error or skipped. Memory addresses in names differ from run to run and are left out."""
    if not report.exists():
        return {}
    outcomes = {}
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        name = re.sub(r"0x[0-9a-f]+", "0x", f"{case.get('classname')}::{case.get('name')}")
        kinds = [child.tag for child in case if child.tag in ("failure", "error", "skipped")]
        outcomes[name] = kinds[0] if kinds else "passed"
    return outcomes


def differences(plain: Outcomes, recorded: Outcomes) -> list[str]:
    return sorted(name for name in plain.keys() | recorded.keys() if plain.get(name) != recorded.get(name))


def settle(kit: Kit, folder: Path, file: str, names: list[str], way: Way) -> list[str]:
    """Of the tests that differed, those that differ in every repetition: the others fail now and then by themselves."""
    left = set(names)
    for _ in range(REPEATS):
        if left:
            left &= set(
                differences(
                    run_tests(kit, folder, [file], "plain").outcomes, run_tests(kit, folder, [file], way).outcomes
                )
            )
    return sorted(left)


def pyopencl(kit: Kit, result: Result, way: Way, chosen: list[str]) -> None:
    folder = fetch_tests(kit.folder)
    for file in chosen or sorted(path.name for path in folder.glob("test_*.py")):
        plain, recorded = run_tests(kit, folder, [file], "plain"), run_tests(kit, folder, [file], way)
        differing = differences(plain.outcomes, recorded.outcomes)
        left = settle(kit, folder, file, differing, way) if differing else []
        counts = {kind: list(plain.outcomes.values()).count(kind) for kind in ("passed", "skipped", "failure", "error")}
        note = ", ".join(f"{count} {kind}" for kind, count in counts.items() if count)
        note += f"; {plain.seconds:.0f} s plain, {recorded.seconds:.0f} s recorded, {recorded.trace_bytes / 1e6:.0f} MB of traces"
        if len(differing) > len(left):
            note += f"; {len(differing) - len(left)} differ now and then without us too"
        result.rows.append(Row(f"pyopencl {file}: outcomes that differ", len(left), "tests", 0, note))
        # A run that crashed has no report: two of them do not differ, but nothing was compared either.
        ends = f"ended with {plain.returncode} plain, {recorded.returncode} recorded"
        nothing = not (plain.outcomes and recorded.outcomes)
        result.rows.append(Row(f"pyopencl {file}: nothing to compare", int(nothing), "", 0, ends))
        result.rows.append(
            Row(f"pyopencl {file}: exit status differs", int(plain.returncode != recorded.returncode), "", 0)
        )
        result.rows.append(Row(f"pyopencl {file}: findings of severity error", len(recorded.errors), "", 0))
        result.remarks += recorded.errors
        result.remarks += [
            f"{file}: {name}: {plain.outcomes.get(name)} -> {recorded.outcomes.get(name)}" for name in left
        ]


# ---- clpeak ----


Peak = tuple[int, list[tuple[str, float]]]


def run_peak(kit: Kit, way: Way, errors: list[str]) -> Peak:
    """Exit status, and the figures in order; findings of severity error go to `errors`."""
    traces = kit.folder / "traces"
    traces.mkdir(exist_ok=True)
    done = subprocess.run(
        ["clpeak", *PEAK_TESTS], env=kit.environment(way, traces), capture_output=True, text=True, check=False
    )
    errors += severe(traces)
    shutil.rmtree(traces)
    return done.returncode, [
        (name, float(value)) for name, value in re.findall(r"^\s+([\w() ]+?)\s*:\s*([\d.]+)", done.stdout, re.M)
    ]


def clpeak(kit: Kit, result: Result, way: Way) -> None:
    errors: list[str] = []
    plain = [run_peak(kit, "plain", errors)]
    recorded = []
    for _ in range(PEAK_ROUNDS):
        recorded.append(run_peak(kit, way, errors))
        plain.append(run_peak(kit, "plain", errors))
    result.rows.append(Row("clpeak: findings of severity error", len(errors), "", 0))
    result.remarks += errors
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
