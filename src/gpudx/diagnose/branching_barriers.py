"""Faults of kernels that have a barrier in a branch: after it, they are not the fault of an argument or a size.

If a barrier is not reached by all work-items of a group, what the kernel does from there on is undefined (OpenCL C specification,
"Synchronization Functions"). An access outside a buffer that was seen in such a kernel really happened, but a buffer of another size is no
cure. Whether all work-items reached the barrier is seen by the checks inside kernels, not here: the source only shows that they may not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from gpudx.detectors.return_before_barrier import divided
from gpudx.facts import Facts
from gpudx.model import Evidence, Finding

if TYPE_CHECKING:  # slow to import, and few runs have such an access
    from gpudx.evidence.sources import Seen

ACCESSES = ("out-of-bounds-access", "use-after-free")
BECAUSE = "The access was observed, but it may follow from a barrier that not all work-items reach: the kernel's source has one."
DIVIDED = "The access was observed in a launch in which a barrier is not reached by all work-items of a group: it may follow from that."
STEP = "Run the program with `gpudx run --sanitize`: it shows whether all work-items of a group reach the barrier."
CAUSE = "barrier-misuse"


def doubted(findings: Iterable[Finding], processes: Sequence[Facts]) -> Iterator[Finding]:
    """The findings; an access of a kernel with such a barrier is no longer certain to be its own cause."""
    by_pid = {facts.trace.pid: facts for facts in processes}
    for finding in findings:
        facts = by_pid.get(finding.site.pid) if finding.site and _is_access(finding) else None
        barrier = _barrier(facts, finding) if facts else None
        if facts and _is_divided(facts, finding):
            yield replace(finding, attribution="unknown", because=DIVIDED)
        else:
            yield _with(finding, barrier) if barrier else finding


def _is_access(finding: Finding) -> bool:
    return finding.certainty == "observed" and finding.causes[:1] in [(cause,) for cause in ACCESSES]


def _barrier(facts: Facts, finding: Finding) -> Seen | None:
    assert finding.site is not None
    row = facts.launches.at_position(finding.site.number - 1)
    info = facts.kernels.info(int(facts.launches.kernel_row[row])) if row is not None else None
    text = facts.kernels.source(info.program, info.position) if info else ""
    if info is None or not text:
        return None
    from gpudx.evidence.sources import Source, every

    source = Source("kernel.cl", text)
    return next((seen for seen in every()["barrier-in-branch"].check(source, [source]) if seen.function == info.name), None)


def _is_divided(facts: Facts, finding: Finding) -> bool:
    """Does a return before a barrier divide a group of this launch? That is reported by itself."""
    row = facts.launches.at_position(finding.site.number - 1) if finding.site else None
    return row is not None and divided(facts, row) is not None


def _with(finding: Finding, barrier: Seen) -> Finding:
    condition = dict(barrier.facts).get("condition", "")
    seen = Evidence(f"line {barrier.line} of the kernel's source has a barrier that only work-items with ({condition[:80]}) reach")
    return replace(
        finding,
        attribution="probable",
        because=BECAUSE,
        causes=(*finding.causes, CAUSE),
        evidence=(seen, *finding.evidence),
        steps=(STEP, *finding.steps),
    )
