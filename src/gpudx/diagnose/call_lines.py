"""Sentences that name a call by its number say its line, too: "call 33" is of no use to whoever reads the program's source."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache

from gpudx.facts import Facts
from gpudx.model import Finding

# A call by its number, unless its line follows: "call 33" and "(call 33)", not "call 33 (main.c:41)" or "call 33, main.c:41".
LINE = r",? \(?[^\s,()]+\.\w+:\d"
NUMBERED = re.compile(rf"\bcall (?P<number>\d+)(?:(?P<closed>\))(?!{LINE})|(?![\d)]|, |{LINE}))")
MOST = 24  # calls of one process whose lines are looked up: that reads debug information


class CallLines:
    """The lines of the calls of all processes of a run."""

    def __init__(self, facts: Sequence[Facts]) -> None:
        self._by_pid = {one.trace.pid: one for one in facts}
        self._looked_up = 0
        self._line = cache(self._find)

    def of(self, finding: Finding) -> Finding:
        """The finding. Its own call is shown with its line anyway, unless another call is the one to change."""
        shown = {finding.site.number} if finding.site and finding.site.source and finding.root is None else set()
        message = self._said(finding.message, finding.pid, shown)
        evidence = tuple(replace(one, text=self._said(one.text, finding.pid, shown)) for one in finding.evidence)
        return replace(finding, message=message, evidence=evidence)

    def _said(self, text: str, pid: int, shown: set[int]) -> str:
        if "call " not in text:
            return text
        told = set(shown)

        def with_line(found: re.Match[str]) -> str:
            number = int(found["number"])
            line = "" if number in told else self._line(pid, number)
            told.add(number)
            if not line or line in text:
                return found[0]
            return f"call {number}, {line})" if found["closed"] else f"call {number} ({line})"

        return NUMBERED.sub(with_line, text)

    def _find(self, pid: int, number: int) -> str:
        facts = self._by_pid.get(pid)
        if facts is None or not 0 < number <= len(facts.trace) or self._looked_up >= MOST:
            return ""
        self._looked_up += 1
        source = facts.sites.at(number - 1).source
        return os.path.basename(source) if source else ""
