"""Findings as a case tells them: each fault once, with where its memory comes from, in the words and the lines of the user's program."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gpudx.diagnose import destructors, reused_buffers, runtime_words
from gpudx.diagnose.branching_barriers import doubted
from gpudx.diagnose.call_lines import CallLines
from gpudx.diagnose.explained import explained
from gpudx.diagnose.findings import find, merge
from gpudx.diagnose.null_origins import traced_back
from gpudx.diagnose.parts import Parts
from gpudx.diagnose.printed_faults import one_fault, with_reasons
from gpudx.facts import Facts
from gpudx.model import Finding, Outcome


def recorded_faults(facts: Sequence[Facts], outcome: Outcome, dumped: Iterable[Finding]) -> tuple[Finding, ...]:
    """What detectors find, and `dumped`, the faults that the device wrote down: one that both saw is one."""
    found = with_reasons(doubted(find(facts, outcome), facts), facts)
    return tuple(one_fault(tuple(found), tuple(explained(dumped, facts))))


def with_history(findings: Iterable[Finding], facts: Sequence[Facts]) -> tuple[Finding, ...]:
    """Each once, with what was done to its pointers and buffers before, and the part of the run in which it was made."""
    told = destructors.told(reused_buffers.told(traced_back(merge(findings), facts), facts))
    return Parts(facts).noted(told)


def in_own_words(findings: Iterable[Finding], facts: Sequence[Facts]) -> tuple[Finding, ...]:
    """With the functions that the program calls, not those that its runtime calls, and with the program's own lines."""
    say, lines = runtime_words.words(facts), CallLines(facts)
    return tuple(runtime_words.of_finding(lines.of(finding), say) for finding in findings)
