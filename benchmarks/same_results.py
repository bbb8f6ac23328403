"""pyopencl's own test suite and clpeak, with and without the recorder: the same results, and no finding of severity error.

The suite comes from pyopencl's source distribution, fetched with pip (the version that is installed). Tests that differ
are run again both ways, because some tests of the suite are random.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import xml.etree.ElementTree as ElementTree
from importlib.metadata import version
from pathlib import Path

from common import ROOT, Result, Row, arguments, finish

FILES = (
    "test_wrapper.py",
    "test_enqueue_copy.py",
    "test_arrays_in_structs.py",
    "test_array.py",
    "test_algorithm.py",
    "test_clrandom.py",
)
SUITE_LIMIT_S = 1500
CLPEAK = ("clpeak", "--kernel-latency", "--global-bandwidth")


def fetch(folder: Path) -> Path:
    """The test folder of the installed pyopencl."""
    wanted = f"pyopencl=={version('pyopencl')}"
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--quiet",
        "--no-deps",
        "--no-binary",
        "pyopencl",
        "-d",
        folder,
        wanted,
    ]
    subprocess.run(command, check=True)
    with tarfile.open(next(folder.glob("pyopencl-*.tar.gz"))) as archive:
        archive.extractall(folder, filter="data")
    return next(folder.glob("pyopencl-*/test"))


def recorded(case: Path, *command: str | Path) -> list[str | Path]:
    """The command, run by gpudx without a word of its own."""
    return [sys.executable, "-m", "gpudx", "run", "--quiet", "--case", case, "--", *command]


def environment(folder: Path) -> dict[str, str]:
    """PoCL's kernel cache is kept apart, so that both ways start from the same."""
    cache = folder / "cache"
    cache.mkdir(exist_ok=True)
    return os.environ | {"PYTHONPATH": str(ROOT / "src"), "POCL_CACHE_DIR": str(cache), "PYOPENCL_NO_CACHE": "1"}


def outcomes(path: Path) -> dict[str, str]:
    """Test -> passed, failed, skipped, from a JUnit file."""
    found = {}
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        kinds = {child.tag for child in case} & {"failure", "error", "skipped"}
        found[f"{case.get('classname')}::{case.get('name')}"] = next(iter(kinds), "passed")
    return found


def run_suite(tests: Path, folder: Path, name: str, case: Path | None, files: tuple[str, ...]) -> dict[str, str]:
    report = folder / f"{name}.xml"
    command: list[str | Path] = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:randomly",
        f"--junitxml={report}",
        *files,
    ]
    wanted = recorded(case, *command) if case else command
    subprocess.run(
        wanted, cwd=tests, env=environment(folder), stdout=subprocess.DEVNULL, check=False, timeout=SUITE_LIMIT_S
    )
    return outcomes(report)


def severe(case: Path) -> list[str]:
    """Messages of the findings of severity error."""
    data = json.loads((case / "case.json").read_text())
    return [f["message"] for f in data["findings"] if f["severity"] == "error"]


def suite(folder: Path, files: tuple[str, ...], result: Result) -> None:
    tests = fetch(folder)
    plain = run_suite(tests, folder, "plain", None, files)
    case = folder / "suite-case"
    with_us = run_suite(tests, folder, "recorded", case, files)
    differ = sorted(name for name in plain.keys() | with_us.keys() if plain.get(name) != with_us.get(name))
    passed = sum(kind == "passed" for kind in plain.values())
    errors = severe(case)
    result.rows += [
        Row("pyopencl's tests", len(plain), "tests", None, f"{passed} pass"),
        Row("with another outcome when recorded", len(differ), "tests", 0),
        Row("findings of severity error", len(errors), "", 0),
    ]
    result.remarks += [f"differs: {name}: {plain.get(name)} / {with_us.get(name)}" for name in differ] + errors


def bandwidth(text: str) -> float:
    """The first figure of a clpeak report after its heading."""
    match = re.search(r":\s*([\d.]+)\s*$", text, re.M)
    return float(match[1]) if match else 0.0


def clpeak(folder: Path, result: Result) -> None:
    if shutil.which("clpeak") is None:
        result.remarks.append("clpeak is not installed: not run.")
        return
    case = folder / "clpeak-case"
    plain = subprocess.run(CLPEAK, env=environment(folder), capture_output=True, text=True, check=False)
    with_us = subprocess.run(
        recorded(case, *CLPEAK), env=environment(folder), capture_output=True, text=True, check=False
    )
    shape = [re.sub(r"[\d.]+", "#", run.stdout) for run in (plain, with_us)]
    result.rows += [
        Row("clpeak, exit status that differs", int(plain.returncode != with_us.returncode), "", 0),
        Row("clpeak, output that differs apart from figures", int(shape[0] != shape[1]), "", 0),
        Row("clpeak, findings of severity error", len(severe(case)), "", 0),
    ]
    result.remarks += severe(case)


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("--files", nargs="*", default=FILES, help="files of the suite")
    options = parser.parse_args()
    result = Result("same-results", "The same results with and without the recorder")
    folder = Path(tempfile.mkdtemp(prefix="gpudx-same-"))
    try:
        suite(folder, tuple(options.files), result)
        clpeak(folder, result)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return finish(result, options)


if __name__ == "__main__":
    sys.exit(main())
