"""An access that was observed, whoever saw it, with the reason why it went there (gpudx.access).

One place for dumps, sanitizers, fences, signals and checks inside kernels: a finding with an access and a launch gets the cause that
the program's own numbers give, the argument and the memory concerned.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from gpudx.causes import tells
from gpudx.facts import Facts
from gpudx.facts.allocated import allocation_of
from gpudx.model import Access, Finding, Site
from gpudx.text import plural

if TYPE_CHECKING:
    from gpudx.access import Reason

VERBS = {"read": "read", "write": "wrote"}
PAGE = 4096  # what a driver names of a fault


def explained(findings: Iterable[Finding], processes: Sequence[Facts]) -> Iterator[Finding]:
    """The findings, those with an access of a known launch with its reason."""
    by_pid = {facts.trace.pid: facts for facts in processes}
    for finding in findings:
        facts = by_pid.get(finding.site.pid) if finding.site else None
        yield _explained(finding, facts) if facts and _asks(finding) else finding


def _asks(finding: Finding) -> bool:
    open_ = bool(finding.causes) and tells(finding.causes[0]) in ("access", "memory")
    return open_ and finding.certainty == "observed" and finding.access is not None and finding.site is not None


def _explained(finding: Finding, facts: Facts) -> Finding:
    from gpudx import access
    from gpudx.access import Question

    assert finding.site is not None and finding.access is not None
    launch = facts.launches.at_position(finding.site.number - 1)
    if launch is None or finding.access.space not in ("", "global", "generic", "shared"):
        return finding
    seen = finding.access
    question = Question(
        facts, launch, seen.address, seen.kind, seen.width, seen.block, seen.thread, seen.exception, seen.origin,
        space=seen.space, within=PAGE if seen.seen_by == "driver" else 1,
    )  # fmt: skip
    reason = access.explain(question)
    return _with(finding, facts, reason) if reason else finding


def _with(finding: Finding, facts: Facts, reason: Reason) -> Finding:
    assert finding.site is not None and finding.access is not None
    site = finding.site
    if reason.argument is not None and reason.argument != site.argument:
        at = facts.sites.at(site.number - 1, argument=reason.argument)
        site = replace(at, source=finding.site.source or at.source)
    allocation = finding.allocation
    if reason.object >= 0:
        allocation = allocation_of(facts, reason.object, "freed" if reason.cause == "use-after-free" else "live")
    return replace(
        finding,
        message=_message(site, finding.access, reason),
        causes=(reason.cause, *(cause for cause in finding.causes if cause != reason.cause)),
        evidence=(*reason.evidence, *finding.evidence),
        site=site,
        allocation=allocation,
        access=_offset(facts, finding.access, reason),
        root=reason.root,
        steps=reason.steps or finding.steps,
    )


def _offset(facts: Facts, seen: Access, reason: Reason) -> Access:
    if reason.object < 0 or seen.address is None:
        return seen
    return replace(seen, offset=facts.memory.offset(reason.object, seen.address))


def _message(site: Site, seen: Access, reason: Reason) -> str:
    bytes_ = f" {plural(seen.width, 'byte')}" if seen.width else ""
    verb = VERBS.get(seen.kind, "accessed") + (bytes_ or " memory") + (" of shared memory" if seen.space == "shared" else "")
    line = f" at {seen.source}" if seen.source else ""
    return f"Kernel {site.kernel} (launch {site.launch}) {verb}{line}: {reason.text}."
