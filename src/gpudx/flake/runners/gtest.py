"""googletest, and runners that speak its command line: --gtest_list_tests, --gtest_filter, --gtest_output=json.

Tests run in the order of their definition; another one only comes from its own shuffle. googletest has no threads of its own:
a suite that has is told of with --parallel OPTION. A binary is known by the names of these options inside it.
"""

from __future__ import annotations

import json
import mmap
import re
import shlex
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from gpudx.errors import UserError
from gpudx.flake.runners import Results, Selection
from gpudx.lab.probe import ask
from gpudx.model.flake import FAILED, NOT_RUN, PASSED

ID = "gtest"
ORDERED = False
SHUFFLES = True
SHARES_PROCESS = True
MARK = b"gtest_list_tests"
REPORT = "gtest.json"
FLAGS = "gtest.flags"
LONGEST = 100_000  # a word of a command line has 128 KiB at most (Linux, MAX_ARG_STRLEN)
_LINE = re.compile(r"\[ *(RUN|OK|FAILED|SKIPPED) *\] ([^\s,]+)(?:, where .*?)?(?: \(\d+ ms\))?\s*$")


def fits(words: Sequence[str]) -> bool:
    return _holds(words[0], MARK)


def _holds(name: str, mark: bytes) -> bool:
    """Is this text in the program's file? Nothing is run to find out."""
    found = shutil.which(name)
    try:
        with open(found or name, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as whole:
            return whole[:4] == b"\x7fELF" and whole.find(mark) >= 0
    except (OSError, ValueError):
        return False


def tests(words: Sequence[str]) -> list[str]:
    answer = ask([*words, "--gtest_list_tests"])
    found = list(_listed(answer.out))
    if answer.problem or not found:
        raise UserError(
            f"{words[0]} --gtest_list_tests named no tests ({answer.problem or 'an empty list'}): run it to see why."
        )
    return found


def _listed(text: str) -> Iterator[str]:
    """A suite ends with a dot; its tests stand below, indented; comments begin with #."""
    suite = ""
    for line in text.splitlines():
        name = line.split("#")[0].rstrip()
        if not line.startswith(" "):
            suite = name if name.endswith(".") else ""
        elif suite and "DISABLED_" not in suite + name:
            yield suite + name.strip()


def start(words: Sequence[str], selection: Selection) -> list[str]:
    more = []
    if selection.tests is not None:
        chosen = f"--gtest_filter={':'.join(selection.tests)}"
        if len(chosen) > LONGEST:  # googletest reads flags from a file too
            (selection.folder / FLAGS).write_text(chosen + "\n")
            chosen = f"--gtest_flagfile={selection.folder / FLAGS}"
        more.append(chosen)
    if selection.seed is not None:
        more += ["--gtest_shuffle", f"--gtest_random_seed={selection.seed % 99999 + 1}"]
    return [*words, *more]


def report(selection: Selection) -> list[str]:
    return [f"--gtest_output=json:{selection.folder / REPORT}"]


def results(selection: Selection, output: Path) -> Results:
    found = _printed(output)
    for name, mark, text in _reported(selection.folder / REPORT):
        found.end(name, mark, text)
    return found


def _printed(output: Path) -> Results:
    """What was printed until the process ended: the report itself is only written at a good end."""
    found = Results()
    for line in output.read_text(errors="replace").splitlines() if output.is_file() else ():
        match = _LINE.search(line)
        if match is None:
            continue
        word, name = match[1], match[2]
        if word == "RUN":
            found.begin(name)
        elif name in found.running:
            found.end(name, {"OK": PASSED, "FAILED": FAILED}.get(word, NOT_RUN))
    return found


def _reported(path: Path) -> Iterator[tuple[str, str, str]]:
    try:
        data: dict[str, Any] = json.loads(path.read_text(errors="replace"))
    except (OSError, ValueError):
        return
    for suite in data.get("testsuites", ()):
        for test in suite.get("testsuite", ()):
            failures = [str(one.get("failure", "")) for one in test.get("failures", ())]
            ran = test.get("status", "RUN") == "RUN" and test.get("result", "COMPLETED") == "COMPLETED"
            mark = FAILED if failures else PASSED if ran else NOT_RUN
            yield f"{suite.get('name')}.{test.get('name')}", mark, "\n".join(failures)


def runs_parallel(words: Sequence[str]) -> bool:
    return False


def parallel(words: Sequence[str]) -> str:
    return ""


def mitigations(words: Sequence[str], kind: str, names: Sequence[str]) -> list[str]:
    if kind in ("order-dependent", "cascade"):
        return [f"for t in {' '.join(map(shlex.quote, names[:3]))}; do {words[0]} --gtest_filter=$t; done"]
    return []
