"""Parts of sentences and findings that several formats need."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from gpudx.model import Finding

ABI = re.compile(r"\[abi:[^\]]*\]")  # what Numba adds to the names of kernels


def bare(function: str) -> str:
    """A function's name without parameters and return type: "void ns::fill<(int)4>(float *)" -> "ns::fill<(int)4>"."""
    end, depth = len(function), 0
    if function.endswith(")"):
        for at in range(len(function) - 1, -1, -1):
            depth += {")": 1, "(": -1}.get(function[at], 0)
            if depth == 0:
                end = at or len(function)
                break
    name, start, depth = function[:end], 0, 0
    for at, letter in enumerate(name):
        depth += {"<": 1, "(": 1, ">": -1, ")": -1}.get(letter, 0)
        start = at + 1 if letter == " " and depth == 0 else start
    return ABI.sub("", name[start:]) or function


def sourced(findings: Iterable[Finding], raw: str | None) -> tuple[Finding, ...]:
    """The findings, each piece of evidence naming the file of the case directory in which it can be read."""
    if raw is None:
        return tuple(findings)
    return tuple(replace(f, evidence=tuple(replace(e, raw=raw) for e in f.evidence)) for f in findings)
