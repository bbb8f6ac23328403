"""Faults that can be seen in the source of kernels without running it. One file per rule; adding a file adds a rule.

A rule is a module here with

    a docstring              what is wrong and why, with an example of both (its page, and `gpudx rule lint-RULE`)
    RULE                     its stable name
    check(source, project)   `Seen` for each place; `project` has all files that were given, for rules that compare them

Mechanical faults only, and warnings only: sources are read word by word (`_tokens`, `_functions`), without headers, macros and types.
What is not understood is passed over in silence.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Protocol

from gpudx.evidence.sources import _tile_builds as tile_builds
from gpudx.evidence.sources._compiled import bare, built, kernel_lines
from gpudx.evidence.sources._functions import Source
from gpudx.evidence.sources._seen import Seen
from gpudx.model import Evidence, Finding, Written

__all__ = ["Rule", "Seen", "Source", "bare", "built", "every", "kernel_lines", "lint", "tile_builds"]


class Rule(Protocol):
    """What a module here offers."""

    __doc__: str | None
    RULE: str

    def check(self, source: Source, project: Sequence[Source]) -> Iterator[Seen]: ...


@cache
def every() -> dict[str, Rule]:
    """All rules by name."""
    names = sorted(m.name for m in pkgutil.iter_modules(__path__) if not m.name.startswith("_"))
    modules = [importlib.import_module(f"{__name__}.{name}") for name in names]
    return {module.RULE: module for module in modules}  # type: ignore[misc]


def lint(project: Sequence[Source]) -> tuple[Finding, ...]:
    """What all rules see in all files, by file and line."""
    found = [
        (index, seen.line, _finding(rule, source, seen))
        for index, source in enumerate(project)
        for rule, module in every().items()
        for seen in module.check(source, project)
    ]
    return tuple(finding for _, _, finding in sorted(found, key=lambda item: item[:2]))


def _finding(rule: str, source: Source, seen: Seen) -> Finding:
    return Finding(
        id=f"lint-{rule}",
        severity="warning",
        message=seen.message,
        evidence=(Evidence(f"{source.at(seen.line)}: {source.line(seen.line)}"), *map(Evidence, seen.notes)),
        causes=seen.causes,
        facts=(("file", source.name), ("function", seen.function), *seen.facts),
        written=Written(source.path, seen.line),
    )
