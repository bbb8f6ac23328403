"""pytest: node ids in the order in which they are given, and JUnit's XML; what is printed tells who was running at a crash.

Parallel is pytest-run-parallel, which runs each test in several threads of one process, else pytest-xdist, whose workers are
processes. Thousands of ids go into a file (pytest 8.2 or newer). Fixtures of a wider scope that are parametrised, and plugins that
sort tests, change the order; the order in which they ran is read from the report.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from gpudx.errors import UserError
from gpudx.flake.runners import Results, Selection, _junit
from gpudx.lab.probe import ask
from gpudx.model.flake import FAILED, NOT_RUN, PASSED

ID = "pytest"
ORDERED = True
SHARES_PROCESS = True
REPORT = "pytest.xml"
IDS = "ids.txt"
NAMES = ("pytest", "py.test")
COLLECTION_S = 600.0
MOST_WORDS = 200  # then a file
THREADS, WORKERS = "--parallel-threads", "--numprocesses"  # of pytest-run-parallel and pytest-xdist
# Options with a value that may look like a path or a test.
VALUED = (
    "-c --rootdir --ignore --deselect -o -p -k -m --confcutdir --basetemp --junit-xml --junitxml --log-file -W -n -r"
)
_STATES = "PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS"
_AFTER = re.compile(rf"^(\S.*?::.+?) (?:PARALLEL )?({_STATES})\b")
_BEFORE = re.compile(rf"^\[gw\d+\] \[ *\d+%\] (?:PARALLEL )?({_STATES}) (\S.*?::.+?)\s*$")
_BEGUN = re.compile(r"^([^\s\[]+::[^\s\[]+(?:\[.*?\])?)(?=\s|$)")  # a crash writes on behind it
_ROOT = re.compile(r"^rootdir: (.+?)(?:, configfile: .*)?$", re.M)
MARKS = {"PASSED": PASSED, "XFAIL": PASSED, "XPASS": PASSED, "SKIPPED": NOT_RUN}


def fits(words: Sequence[str]) -> bool:
    return _length(words) > 0


def _length(words: Sequence[str]) -> int:
    """How many words stand for pytest itself; 0 if this is something else."""
    if Path(words[0]).name in NAMES:
        return 1
    python = Path(words[0]).name.startswith("python")
    return 3 if python and list(words[1:3]) in [["-m", name] for name in NAMES] else 0


def tests(words: Sequence[str]) -> list[str]:
    answer = ask([*words, "--collect-only", "-q", "-o", "verbosity_test_cases=-1"], patience=COLLECTION_S)
    found = [line for line in answer.out.splitlines() if "::" in line and not line.startswith((" ", "<", "ERROR", "="))]
    if not found or answer.status not in (0, 5):
        last = (answer.out.strip().splitlines() or answer.err.strip().splitlines() or ["it named no tests"])[-1]
        raise UserError(f"pytest cannot list its tests ({last}): run `{' '.join(words)} --collect-only` to see why.")
    return found


def start(words: Sequence[str], selection: Selection) -> list[str]:
    count = _length(words)
    own, rest = list(words[:count]), list(words[count:])
    if selection.threads is not None:
        rest = [*_without_workers(rest), *_threads(tuple(words), selection.threads)]
    if selection.tests is not None:
        rest = [*_without_places(rest), *_chosen(selection)]
    return [*own, *rest]


def report(selection: Selection) -> list[str]:
    into = f"--junit-xml={selection.folder / REPORT}"
    return ["-v", "-o", "verbosity_test_cases=1", "-o", "junit_family=xunit1", into]


def _chosen(selection: Selection) -> list[str]:
    assert selection.tests is not None
    root = _root(selection.tests[0])
    places = [os.path.join(root, name) if root else name for name in selection.tests]
    if len(places) <= MOST_WORDS:
        return places
    (selection.folder / IDS).write_text("\n".join(places) + "\n")
    return [f"@{selection.folder / IDS}"]


def _root(name: str) -> str:
    """Ids are relative to pytest's root directory, which may lie above: "" where that is the current one."""
    file, here = name.partition("::")[0], Path.cwd()
    found = next((place for place in (here, *here.parents) if (place / file).exists()), here)
    return "" if found == here else os.path.relpath(found)


def _without_places(words: Sequence[str]) -> list[str]:
    """Without the files, folders and tests that the command names; options and their values stay."""
    kept: list[str] = []
    for before, word in zip(["", *words], words, strict=False):
        named = not word.startswith("-") and before not in VALUED.split()
        if not (named and (word.startswith("@") or os.path.exists(word.partition("::")[0]))):
            kept.append(word)
    return kept


def _without_workers(words: Sequence[str]) -> list[str]:
    kept, skip = [], False
    for word in words:
        if not skip and word not in ("-n", "--numprocesses", "--parallel-threads") and not _is_workers(word):
            kept.append(word)
        skip = not skip and word in ("-n", "--numprocesses", "--parallel-threads")
    return kept


def _is_workers(word: str) -> bool:
    return bool(re.match(r"-n\d+$|-nauto$|--numprocesses=|--parallel-threads=|--dist=", word))


def _threads(words: tuple[str, ...], threads: int) -> list[str]:
    have = _options(words)
    if THREADS in have:
        return [f"{THREADS}={threads}"]
    return ["-n", str(0 if threads == 1 else threads)] if WORKERS in have else []


@cache
def _options(words: tuple[str, ...]) -> frozenset[str]:
    """What the plugins of this command offer, whichever way they were loaded."""
    told = ask([*words, "--help"]).out
    return frozenset(option for option in (THREADS, WORKERS) if option in told)


def results(selection: Selection, output: Path) -> Results:
    found = _printed(output)
    for case in _junit.read(selection.folder / REPORT):
        found.end(_id(case), case.mark, case.text)
    return found


def _id(case: _junit.Case) -> str:
    """The node id that pytest made the report's names from: file, classes, test."""
    prefix = case.file.removesuffix(".py").replace("/", ".")
    groups = case.group.removeprefix(prefix).strip(".")
    return "::".join([case.file, *(groups.split(".") if groups else ()), case.name])


def _printed(output: Path) -> Results:
    """Lines until the process ended: an id without a result was running."""
    found, text = Results(), output.read_text(errors="replace") if output.is_file() else ""
    root = _ROOT.search(text)
    for line in text.splitlines():
        after, before, begun = _AFTER.match(line), _BEFORE.match(line), _BEGUN.match(line)
        if after:
            found.end(_from_root(after[1], root), MARKS.get(after[2], FAILED))
        elif before:
            found.end(_from_root(before[2], root), MARKS.get(before[1], FAILED))
        elif begun and _from_root(begun[1], root) not in found.marks:
            found.begin(_from_root(begun[1], root))
        elif line.startswith("====") and ("FAILURES" in line or "ERRORS" in line or "summary" in line):
            break
    return found


def _from_root(name: str, root: re.Match[str] | None) -> str:
    """Printed names are relative to the current folder, ids to pytest's root."""
    file, _, rest = name.partition("::")
    return f"{os.path.relpath(os.path.abspath(file), root[1])}::{rest}" if root else name


def runs_parallel(words: Sequence[str]) -> bool:
    said = re.search(r"(?:^| )(?:-n|--numprocesses|--parallel-threads)[= ]?(\d+|auto)", " ".join(words))
    return bool(said) and said[1] not in ("0", "1")  # type: ignore[index]


def parallel(words: Sequence[str]) -> str:
    have = _options(tuple(words))
    return "threads" if THREADS in have else "processes" if WORKERS in have else ""


def mitigations(words: Sequence[str], kind: str, names: Sequence[str]) -> list[str]:
    own = " ".join(words[: _length(words)])
    if kind == "concurrency-dependent":
        return [f"{own} {' '.join(_threads(tuple(words), 1))}".strip()]
    if kind in ("order-dependent", "cascade"):
        return [f"{own} --forked   # pytest-forked: a process for each test"]
    return []
