"""Lines in which a program that exits with 0 says that a check of its results failed.

Only what can hardly be meant otherwise counts: a verdict in capitals (MISMATCH, FAILED), or words for a difference beside words for a
check. Counts of zero, legends, conditions and what was tried again are left out, and so is everything where the program says in a later
line that all is well.
"""

from __future__ import annotations

import re
from pathlib import Path

MOST_BYTES = 1 << 20  # from the end of what it printed
LONGEST = 100

FAULT = r"mismatch\w*|differ(?:s|ed|ences?|ent)?|wrong|incorrect|fail(?:s|ed|ures?)?|errors?|bad"
ZERO = r"0+(?:\.0+)?(?:e[+-]?\d+)?"
# "0 mismatches", "no errors", "0 of 256 bins wrong", "0/256 failed", "0.00 % wrong"
NONE_BEFORE = re.compile(
    rf"(?<![\w.,])(?:{ZERO}|no|none|zero|without(?:\s+any)?|never|not)(?:\s*%|\s*(?:of|out\s+of|/)\s*[\d,]+)?\s+"
    rf"(?:[\w-]+\s+){{0,3}}?(?:{FAULT})\b",
    re.I,
)
# "mismatches: 0", "failed = 0", "wrong 0/256", "errors: none"
NONE_BEHIND = re.compile(rf"\b(?:{FAULT})\b(?:\s+[a-z-]+){{0,2}}\s*[:=]?\s*\(?(?:{ZERO}|none|no|nothing)(?![\w.])", re.I)
LEGEND = re.compile(r"\b(?:PASS(?:ED)?|OK|SUCCESS)\b\s*(?:[/|,=]|or\b)|(?:[/|,=]|\bor)\s*(?:PASS(?:ED)?|OK|SUCCESS)\b|usage:|legend", re.I)
OTHERWISE = re.compile(
    r"\b(?:if|unless|when|would|could|may|might|should|as expected|expected to|on purpose|intentional\w*|deliberate\w*|simulat\w*|"
    r"inject\w*|retry\w*|trying|tried|try|again|fall\w* ?back|instead|tolerat\w*|ignor\w*|correct(?:ed|ing)|recover\w*|skip\w*|warn\w*|"
    r"penalty|score|rate)\b",
    re.I,
)
VERDICT = re.compile(r"(?<![\w-])(?:MISMATCH(?:ES|ED)?|FAIL(?:ED|URE)?|WRONG|INCORRECT)(?![\w-])")
DIFFERENCE = re.compile(r"\b(?:mismatch(?:es|ed)?|wrong|incorrect|differs?|(?:does|do|did)(?:n't| not) match|not equal)\b", re.I)
CHECKED = re.compile(
    r"\b(?:verif\w*|validat\w*|checks?|checked|self-?(?:check|test)|compar\w*|tests?|results?|expected|references?|cpu|host|got|values?|elements?|"
    r"pixels?|outputs?|answers?|sums?|bins?|rows?|columns?)\b",
    re.I,
)
CHECK_FAILED = re.compile(r"\b(?:verification|validation|(?:self-?)?(?:check|test)|comparison)s?(?:\s+\w+){0,2}\s+failed\b", re.I)
ALL_WELL = re.compile(
    r"(?<![\w-])(?:PASS(?:ED)?|SUCCESS|OK)(?![\w-])|\b(?:all|tests?|checks?|results?)\b.*\b(?:passed|correct|match|ok)\b", re.I
)


def complaint(output: Path) -> str:
    """The first such line of what a program printed, shortened; "" if there is none."""
    try:
        with output.open("rb") as file:
            file.seek(max(0, output.stat().st_size - MOST_BYTES))
            lines = file.read().decode("utf-8", "replace").splitlines()
    except OSError:
        return ""
    found = [at for at, line in enumerate(lines) if is_complaint(line)]
    if not found or any(_is_all_well(line) for line in lines[found[-1] + 1 :]):
        return ""
    return " ".join(lines[found[0]].split())[:LONGEST]


def is_complaint(line: str) -> bool:
    """Does it report a check that failed?"""
    if LEGEND.search(line) or OTHERWISE.search(line):
        return False
    left = NONE_BEHIND.sub(" ", NONE_BEFORE.sub(" ", line))
    return bool(VERDICT.search(left) or CHECK_FAILED.search(left) or (DIFFERENCE.search(left) and CHECKED.search(left)))


def _is_all_well(line: str) -> bool:
    return bool(ALL_WELL.search(line)) and not is_complaint(line)
