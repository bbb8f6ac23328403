"""Catch2, version 2 or 3: names from its list, results from its XML report, which is written test by test.

Tests run in the order of their definition; another one only comes from its own shuffle. Catch2 has no threads of its own: a suite that
has is told of with --parallel OPTION. Sections are parts of their test. A binary is known by the names of an option and of a part of
the report inside it.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from xml.etree import ElementTree

from gpudx.errors import UserError
from gpudx.flake.runners import Results, Selection
from gpudx.flake.runners.gtest import _holds
from gpudx.lab.probe import ask
from gpudx.model.flake import CRASHED, FAILED, NOT_RUN, PASSED

ID = "catch2"
ORDERED = False
SHUFFLES = True
SHARES_PROCESS = True
MARKS = (b"list-tests", b"OverallResultsCases")  # an option, and an element of the XML report
REPORT = "catch2.xml"
# Version 2 has an option for bare names, whose exit status is their number; version 3 has "quiet" (docs/command-line.md of each).
LISTS = (("--list-test-names-only",), ("--list-tests", "--verbosity", "quiet"))


def fits(words: Sequence[str]) -> bool:
    return all(_holds(words[0], mark) for mark in MARKS)


def tests(words: Sequence[str]) -> list[str]:
    for more in LISTS:
        answer = ask([*words, *more])
        found = [line.strip() for line in answer.out.splitlines() if line.strip()]
        if found and not answer.err.strip() and not found[0].startswith("Error"):
            return found
    raise UserError(f"{words[0]} named no tests: run `{words[0]} --list-tests` to see why.")


def start(words: Sequence[str], selection: Selection) -> list[str]:
    more = [",".join(map(_literal, selection.tests))] if selection.tests is not None else []
    if selection.seed is not None:
        more += ["--order", "rand", "--rng-seed", str(selection.seed)]
    return [*words, *more]


def _literal(name: str) -> str:
    """Commas part names, and brackets are tags."""
    return re.sub(r"([\\,\[])", r"\\\1", name)


def report(selection: Selection) -> list[str]:
    return ["--reporter", "xml", "--out", str(selection.folder / REPORT)]


def results(selection: Selection, output: Path) -> Results:
    found = Results()
    for event, element in _elements(selection.folder / REPORT):
        name = element.get("name", "").strip()
        if element.tag == "TestCase" and event == "start":
            found.begin(name)
        elif element.tag == "TestCase":
            mark = _mark(element)
            found.end(name, mark, "" if mark == PASSED else _said(element))
    return found


def _elements(path: Path) -> Iterator[tuple[str, ElementTree.Element]]:
    """As far as the report goes: a process that died has not ended it."""
    try:
        yield from ElementTree.iterparse(path, ("start", "end"))
    except (OSError, ElementTree.ParseError):
        return


def _mark(case: ElementTree.Element) -> str:
    if case.find(".//FatalErrorCondition") is not None:
        return CRASHED
    result = case.find("OverallResult")
    if result is None:
        return NOT_RUN
    skipped = result.get("skips", "0") != "0"
    return FAILED if result.get("success") != "true" else NOT_RUN if skipped else PASSED


def _said(case: ElementTree.Element) -> str:
    """Failed expressions as they were written, with their values."""
    lines = []
    for one in case.iter():
        if one.tag == "Expression" and one.get("success") == "false":
            original, expanded = (" ".join(one.findtext(tag, "").split()) for tag in ("Original", "Expanded"))
            lines.append(f"{one.get('filename')}:{one.get('line')}: {original}, with expansion {expanded}")
        elif one.tag in ("FatalErrorCondition", "Failure", "Exception"):
            lines.append(" ".join((one.text or "").split()))
    return "\n".join(lines)


def runs_parallel(words: Sequence[str]) -> bool:
    return False


def parallel(words: Sequence[str]) -> str:
    return ""


def mitigations(words: Sequence[str], kind: str, names: Sequence[str]) -> list[str]:
    if kind in ("order-dependent", "cascade"):
        chosen = " ".join(shlex.quote(_literal(name)) for name in names[:3])
        return [f'for t in {chosen}; do {words[0]} "$t"; done']
    return []
