"""ctest, 3.21 or newer: every test is a process of its own. Order is ctest's, or drawn by it (--schedule-random).

One test cannot spoil another in memory, only through files and devices. Parallel tests are parallel processes (-j).
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

from gpudx.errors import UserError
from gpudx.flake.runners import Results, Selection, _junit
from gpudx.lab.probe import ask
from gpudx.model.flake import FAILED, NOT_RUN, PASSED

ID = "ctest"
ORDERED = False
SHUFFLES = True
SHARES_PROCESS = False
REPORT = "ctest.xml"
_LINE = re.compile(r"^ *\d+/\d+ +Test +#\d+: (\S+) \.*(?:\**| +)(Passed|\S.*?) +[\d.]+ sec", re.M)
_BEGUN = re.compile(r"^ +Start +\d+: (\S+)$", re.M)


def fits(words: Sequence[str]) -> bool:
    return Path(words[0]).name == "ctest"


def tests(words: Sequence[str]) -> list[str]:
    answer = ask([*words, "--show-only=json-v1"])
    try:
        found = [str(test["name"]) for test in json.loads(answer.out)["tests"]]
    except (ValueError, KeyError, TypeError):
        found = []
    if not found:
        raise UserError("ctest named no tests: give the build directory with --test-dir, and build it first.")
    return found


def start(words: Sequence[str], selection: Selection) -> list[str]:
    more = []
    if selection.tests is not None:
        more += ["-R", f"^({'|'.join(map(_literal, selection.tests))})$"]
    if selection.threads is not None:
        more += ["-j", str(selection.threads)]
    if selection.seed is not None:
        more.append("--schedule-random")  # its order cannot be chosen, only read afterwards
    return [*words, *more]


def report(selection: Selection) -> list[str]:
    return ["--output-junit", str((selection.folder / REPORT).absolute())]


def _literal(name: str) -> str:
    """CMake's regular expressions know fewer special characters than Python's, and no escapes for the others."""
    return re.sub(r"([.^$*+?()\[\]|\\])", r"\\\1", name)


def results(selection: Selection, output: Path) -> Results:
    found, text = Results(), output.read_text(errors="replace") if output.is_file() else ""
    for name in _BEGUN.findall(text):
        found.begin(name)
    for name, state in _LINE.findall(text):
        found.end(name, _state(state))
    for case in _junit.read(selection.folder / REPORT):
        found.end(case.name, case.mark, case.text)
    return found


def _state(text: str) -> str:
    undone = "Not Run" in text or "Skipped" in text or "Disabled" in text
    return PASSED if text == "Passed" else NOT_RUN if undone else FAILED


def runs_parallel(words: Sequence[str]) -> bool:
    return any(word.startswith(("-j", "--parallel")) for word in words)


def parallel(words: Sequence[str]) -> str:
    return "processes"


def mitigations(words: Sequence[str], kind: str, names: Sequence[str]) -> list[str]:
    if kind in ("concurrency-dependent", "resource-dependent"):
        return [f"set_tests_properties({' '.join(names[:3])} PROPERTIES RUN_SERIAL ON)   # CMakeLists.txt"]
    return []
