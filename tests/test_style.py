"""Words that users should not meet, in every string that they can: messages, help, errors, and the texts of rules."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import constants

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src/gpudx"
# Packages whose modules are documented to users by their docstrings (gpudx rule).
RULES = ("detectors", "lab/experiments", "evidence/logs", "evidence/sources", "gates")
PAGES = [*sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "incidents").glob("*/README.md")), *sorted(ROOT.glob("*.md"))]
ODD = re.compile(
    r"\b(is|are|was|were|not|be) told\b|\btells? (slow|them) from\b|\bmend(s|ed|ing)?\b|\bput right\b|\bnobody wrote\b"
    r"|\bstands? in the record\b|\bwords of (compilers|a driver)\b|\bwhat (goes round|is around) it\b|\bis given as\b|\bheld back\b"
    r"|\bput in order\b|\bmemory #|\bWho ran\b|\bWhere it surfaced\b|\bWhat would have proved\b|DID NOT COME BACK|\bso many bytes\b"
    r"|\breports? (cannot )?(says?|tells?|told)\b|\bgpudx (says|tells)\b|\bfaults? (is|are) of\b|\bSay it\b|\bInstruments\b"
    r"|\bas it happened\b"
    r"|\bbehind (its|the) end\b|\bbehind (memory|each|every)\b|\brecorded call gave\b|--timeout S\b|\bwants it so\b"
    r"|\b(died|dies) of\b|\b[Rr]eported of\b|\bmatter of chance\b|\b(goes|went) on\b|\bno memory can have\b|\btime was up\b"
    r"|\brates that fit\b|\bfor ever\b"
)


def strings(path: Path) -> Iterator[tuple[int, str]]:
    """The texts of a module that users may see: not docstrings, except those of rules and commands."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    rule = any(path.is_relative_to(SOURCE / one) for one in RULES) and not path.name.startswith("_")
    hidden = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
        and not (isinstance(node, ast.Module) and rule)
        and not (isinstance(node, ast.FunctionDef) and node.name == "command")
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in hidden:
            yield node.lineno, " ".join(node.value.split())


def test_no_odd_words_in_what_the_program_prints() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}: {match[0]}"
        for path in sorted(SOURCE.rglob("*.py"))
        if "languages" not in path.parts and any(ODD.search(" ".join(text.split())) for text in constants.strings(path))
        for line, text in strings(path)
        if (match := ODD.search(text))
    ]
    assert not found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_odd_words_on_pages(page: Path) -> None:
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    assert not [match[0] for match in ODD.finditer(" ".join(text.split()))]
