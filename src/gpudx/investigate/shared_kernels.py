"""Threads that share a kernel object: decided before other instruments look, because what they would see can follow from it.

A launch that runs with another thread's arguments leaves its own buffer unwritten, writes one that a second launch writes, or leaves a
buffer that is smaller. Checks inside kernels report that as an uninitialized read, a race or an access outside memory.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from gpudx.causes import every as every_cause
from gpudx.diagnose import entries
from gpudx.diagnose.judge import ORDER
from gpudx.investigate import ordered
from gpudx.investigate.observed import PLAIN, observed
from gpudx.model import Case, Diagnosis, Evidence, FailureClass, Investigation, Trial, Verdict
from gpudx.model.cause_kinds import IN_KERNEL, MEMORY, UNINITIALISED, UNORDERED
from gpudx.text import plural

CAUSE, EXPERIMENT = "kernel-shared-by-threads", "turns"
OF: tuple[FailureClass, ...] = ("wrong result", "crash")
FOLLOWING = (UNINITIALISED, MEMORY, IN_KERNEL, UNORDERED)  # kinds of causes that a launch with wrong arguments can bring about
FOLLOWS = "Threads share a kernel object in this program, and a launch that runs with another thread's arguments can do the same."


def next_run(state: Investigation, runnable: Collection[str]) -> ordered.Wanted | None:
    """Runs in which threads take turns on a kernel object, and plain ones, until these decide."""
    if state.symptom not in OF or EXPERIMENT not in runnable or not _is_suspected(state.before):
        return None
    return ordered.next_of(EXPERIMENT, observed(state.trials))


def entry(trials: Sequence[Trial], case: Case) -> Diagnosis | None:
    """Once it is decided. `case` is of the plain run that completed the decision."""
    seen = observed(trials)
    finding = next((one for one in case.findings if one.id == CAUSE), None)
    if finding is None or not ordered.decided(EXPERIMENT, seen):
        return None
    turns, plain = seen[EXPERIMENT], seen[PLAIN]
    proof = Evidence(f"with threads that take turns on the kernel object: {plural(turns.rate.runs, 'run')}, no failure")
    counted = (*finding.evidence[:1], proof, Evidence(f"as it is: {ordered.rate(plain)}"), *finding.evidence[1:])
    reason = (
        "The failure is gone in every run in which each thread has the kernel object to itself from its first argument to its launch, "
        "and comes back without that."
    )
    verdict = Verdict(entries.hypothesis(finding), "confirmed", counted, (), reason)
    return replace(entries.of_finding(finding, verdict, None), observed=True)


def before_followers(ranked: Sequence[Diagnosis], state: Investigation) -> list[Diagnosis]:
    """No cause that can follow from a shared kernel object comes before it, nor is it more certain."""
    shared = next((one for one in ranked if one.cause == CAUSE and ORDER[one.status] <= ORDER["likely"]), None)
    if shared is None or not _is_suspected(state.before):
        return list(ranked)
    first = ranked.index(shared)
    earlier = [one for one in ranked[:first] if not _can_follow(one)]
    followers = [_no_surer(one, shared) for one in ranked[:first] if _can_follow(one)]
    return [*earlier, shared, *followers, *ranked[first + 1 :]]


def _is_suspected(before: Sequence[Diagnosis]) -> bool:
    """By the record of a plain run."""
    return any(one.cause == CAUSE and one.status in ("confirmed", "likely") for one in before)


def _can_follow(entry: Diagnosis) -> bool:
    cause = every_cause().get(entry.cause)
    return cause is not None and cause.kind in FOLLOWING


def _no_surer(entry: Diagnosis, shared: Diagnosis) -> Diagnosis:
    return replace(entry, status=shared.status, reason=FOLLOWS) if ORDER[entry.status] < ORDER[shared.status] else entry
