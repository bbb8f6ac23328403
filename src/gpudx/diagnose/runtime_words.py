"""Sentences about programs of the CUDA runtime name the runtime's functions, which their authors wrote, and not the driver's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from gpudx.backends.cuda.runtime_names import OF_RUNTIME, told
from gpudx.facts import Facts
from gpudx.model import Diagnosis, Evidence, Finding

Words = Callable[[str], str]


def words(facts: Sequence[Facts]) -> Words:
    """How sentences about these processes are said. A program that calls the driver itself keeps the driver's names."""
    users = [one for one in facts if len(one.trace) and any(call.api == "cuda" for call in one.trace.schema.calls)]
    return told if users and all(map(_goes_through_runtime, users)) else str


def _goes_through_runtime(facts: Facts) -> bool:
    """Are all calls whose caller is known made by the runtime?"""
    trace = facts.trace
    every = np.array([call.api == "cuda" for call in trace.schema.calls])
    callers = np.unique(trace.column("caller")[every[trace.call]])
    places = [facts.symbols.describe(int(caller)) for caller in callers if caller]
    return bool(places) and all(place is not None and OF_RUNTIME.search(str(place)) for place in places)


def of_finding(finding: Finding, say: Words) -> Finding:
    return replace(finding, message=say(finding.message), because=say(finding.because), evidence=_said(finding.evidence, say))


def of_entry(entry: Diagnosis, say: Words) -> Diagnosis:
    return replace(
        entry,
        summary=say(entry.summary),
        reason=say(entry.reason),
        fix=tuple(map(say, entry.fix)),
        evidence=_said(entry.evidence, say),
        not_counted=_said(entry.not_counted, say),
    )


def _said(evidence: tuple[Evidence, ...], say: Words) -> tuple[Evidence, ...]:
    return tuple(replace(one, text=say(one.text)) for one in evidence)
