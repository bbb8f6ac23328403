"""A call failed and the program continued as if it had succeeded.

From then on, the work of that call is missing. The failures that people see are only consequences: an invalid kernel because
the program did not build, wrong results because a copy was refused. Followers are folded under the first failure.

Example:

    cl_mem big = clCreateBuffer(context, 0, 1ull << 40, NULL, NULL);   // refused; not checked
    clSetKernelArg(kernel, 0, sizeof big, &big);
    clEnqueueNDRangeKernel(...);                                        // CL_INVALID_KERNEL_ARGS, and that is reported

Fix it by checking the status of this call and stopping there; then find out why it fails.

Programs probe formats, build options and work-group sizes: a failure after which the program did something else instead is not
reported.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpudx.detectors import Run
from gpudx.detectors._failures import Failure, Failures
from gpudx.detectors._handled import is_one_size_of_many
from gpudx.detectors._related import null_tie
from gpudx.detectors._words import site_of, sites_of
from gpudx.facts import Facts
from gpudx.model import Cause, Evidence, Finding
from gpudx.text import plural, several

ID = "ignored-error"
CAUSE = Cause(
    id=ID,
    title="An earlier call failed and the program continued",
    refutes_if="The later failures also occur in a run in which this call succeeds.",
    fix=("Check the status of this call and stop there; then find out why it fails.",),
    predicts=(("recorded", "later calls fail on the same objects"),),
    settled_by="a run in which the first call succeeds",
)
SHOWN = 5


def detect(facts: Facts, run: Run) -> Iterator[Finding]:
    """One finding per call and status, of the first that the program went on after."""
    failures, told = Failures(facts), set()
    for failure in failures.roots:
        kind = (failure.info.number, failure.status)
        how = "" if kind in told or failures.runs_without(failure) else failures.ignored(failure)
        row = facts.launches.at_position(failure.position)
        if how and not (not run.failed and row is not None and is_one_size_of_many(facts, row)):
            told.add(kind)
            yield _finding(facts, run, failure, how)


def _finding(facts: Facts, run: Run, failure: Failure, how: str) -> Finding:
    site = site_of(facts, failure.position)
    followers = failure.followers
    later = sum(f.count for f in followers)
    names = several([f"{f.info.name} ({facts.errors.status_name(f.position)})" for f in followers])
    tail = f"; {plural(later, 'later call')} failed because of it: {names}" if followers else ""
    evidence = [Evidence(f"{site.call} returned {site.status}", (site.number,)), Evidence(how, (site.number,))]
    for f in followers[:SHOWN]:
        evidence.append(
            Evidence(f"then {f.info.name} returned {facts.errors.status_name(f.position)}", (f.position + 1,))
        )
    of = f" for kernel {site.kernel}" if site.kernel else ""
    return Finding(
        id=ID,
        severity="error" if run.failed else "warning",
        site=site,
        count=failure.count,
        causes=(ID,),
        message=f"{site.call}{of} failed with {site.status} and the program continued{tail}.",
        evidence=tuple(evidence),
        others=sites_of(facts, [f.position for f in followers[:SHOWN]]),
        facts=(("call", site.call), ("status", site.status or "?"), ("kernel", site.kernel or "")),
        attribution="probable",  # the program may have failed from what it did afterwards
        because="It is the first call that failed; what failed later came after it.",
        ties=tuple(null_tie(f.makes) for f in (failure, *followers) if f.makes)[:1],
    )
