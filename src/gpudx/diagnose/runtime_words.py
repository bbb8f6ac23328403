"""Sentences about programs of the CUDA runtime name the runtime's functions, which their authors wrote, and not the driver's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache

import numpy as np

from gpudx.backends.cuda.runtime_names import FUNCTION, OF_RUNTIME, told
from gpudx.facts import Facts
from gpudx.model import Diagnosis, Evidence, Finding

Words = Callable[[str], str]


def words(facts: Sequence[Facts]) -> Words:
    """How sentences about these processes are said. A program that calls the driver itself keeps the driver's names. Who calls is looked
    up when a sentence first names a function: that reads symbols, and most sentences name none."""
    through = cache(lambda: _all_through_runtime(facts))
    return lambda text: told(text) if FUNCTION.search(text) and through() else text


def _all_through_runtime(facts: Sequence[Facts]) -> bool:
    users = [one for one in facts if any(call.api == "cuda" for call in one.trace.calls_made)]
    return bool(users) and all(map(_goes_through_runtime, users))


def _goes_through_runtime(facts: Facts) -> bool:
    """Are all calls whose caller is known made by the runtime?"""
    trace = facts.trace
    mine = trace.select(tuple(call for call in trace.calls_made if call.api == "cuda"))
    places = [facts.symbols.describe(int(caller)) for caller in np.unique(trace.column("caller", mine)) if caller]
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
