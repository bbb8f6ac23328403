"""A call failed and the program ended because of it.

The program did what it should: it checked the status and stopped. The search begins at the failing call, with its values and
its place in the host code.

Example:

    buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, count * sizeof(float), NULL, &status);   // count is 0
    if (status != CL_SUCCESS) exit(1);

Fix it by reading the status in the specification of this call, and by checking the values it was passed.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpudx.detectors import Run
from gpudx.detectors._failures import Failure, Failures
from gpudx.detectors._handled import launch_dealt_with
from gpudx.detectors._parameters import told, values_of
from gpudx.detectors._words import site_of
from gpudx.facts import Facts
from gpudx.model import Cause, Evidence, Finding, Symptom

ID = "failed-call"
CAUSE = Cause(
    id=ID,
    title="A call failed and the program ended because of it",
    refutes_if="The program ends the same way when this call succeeds.",
    fix=("Read the status in the specification of this call, and check the values it was passed.",),
    predicts=(("recorded", "the program ends right after the failing call"),),
)


def detect(facts: Facts, run: Run) -> Iterator[Finding]:
    """At most one finding: the last failing call before a bad end, if nothing but tidying up came after it."""
    failures = Failures(facts)
    if run.outcome.kind not in ("exit", "signal") or not len(facts.errors) or len(facts.errors.reports):
        return  # after a fault of the device all calls fail: see device-error-reported
    last = int(facts.errors.position[-1])
    failure = failures.at(last)
    if failure.info.does != "release" and failures.stopped_at(failure) and not _is_last_try(facts, last):
        yield _finding(facts, run, failure)


def _is_last_try(facts: Facts, position: int) -> bool:
    """Was it a launch with one of several sizes that the program tried, of which others were refused and taken before?"""
    row = facts.launches.at_position(position)
    return row is not None and launch_dealt_with(facts, row)


def _afterwards(facts: Facts, position: int) -> str:
    tid, is_note = facts.trace.column("tid"), facts.trace.is_note
    later = (tid[position + 1 :] == tid[position]) & ~is_note[position + 1 :]
    return "after this call, its thread made only cleanup calls" if later.any() else "its thread made no further call"


def _finding(facts: Facts, run: Run, failure: Failure) -> Finding:
    site = site_of(facts, failure.position)
    of = f" for kernel {site.kernel}" if site.kernel else ""
    evidence = (
        Evidence(f"{site.call} returned {site.status}: {told(values_of(facts, failure.position))}", (site.number,)),
        Evidence(f"the program gave up: {_afterwards(facts, failure.position)}", (site.number,)),
    )
    return Finding(
        id=ID,
        severity="error",
        message=f"{site.call}{of} failed with {site.status}, and the program ended after it.",
        evidence=evidence,
        site=site,
        causes=(ID,),
        scope="symptom",
        symptom=Symptom("failed call"),
        facts=(("call", site.call), ("status", site.status or "?"), ("kernel", site.kernel or "")),
    )
