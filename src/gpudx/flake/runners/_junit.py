"""JUnit's XML: the form in which most runners write their results. Kept small: cases, their state and text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from gpudx.model.flake import FAILED, NOT_RUN, PASSED

SPOILED = ("failure", "error")
UNDONE = ("skipped", "disabled", "notrun")


@dataclass(frozen=True)
class Case:
    """One test of a report."""

    name: str
    group: str
    file: str
    mark: str
    text: str


def read(path: Path) -> Iterator[Case]:
    """The cases in order. Nothing when the report was not written, or not to its end."""
    try:
        root = ElementTree.parse(path).getroot()
    except (OSError, ElementTree.ParseError):
        return
    for case in root.iter("testcase"):
        yield _case(case)


def _case(case: ElementTree.Element) -> Case:
    bad = [child for child in case if child.tag in SPOILED]
    state = case.get("status", "")  # ctest: run, fail, notrun, disabled
    undone = state in UNDONE or any(child.tag in UNDONE for child in case)
    mark = FAILED if bad or state == "fail" else NOT_RUN if undone else PASSED
    text = "\n".join(_text(child) for child in bad) + (_of_output(case) if mark == FAILED else "")
    return Case(case.get("name", ""), case.get("classname", ""), case.get("file", ""), mark, text.strip())


def _text(child: ElementTree.Element) -> str:
    message, whole = child.get("message") or "", child.text or ""
    return whole if message and message in whole else f"{message}\n{whole}"


def _of_output(case: ElementTree.Element) -> str:
    """ctest puts what a test printed beside its state."""
    return "\n" + "\n".join(child.text or "" for child in case if child.tag == "system-out")
