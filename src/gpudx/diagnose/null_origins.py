"""A kernel used a null pointer, and a call that should have made the memory was refused: one fault, whose cause is the refusal.

The status of the call was not looked at, so the program passed on the NULL that it got. "Allocate the memory" is wrong advice then: the
program did try.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace

from gpudx.diagnose.surface import pid_of
from gpudx.facts import Facts
from gpudx.model import Attribution, Evidence, Finding, Site

NULL = "null-pointer"
MEMORY = ("handle:mem", "pointer")  # results of calls that make memory
UNSPECIFIC = ("failed-call", "ignored-error")  # detectors that know the status only
USED = "A kernel used the NULL that the program got from this call."
PERHAPS = "A kernel used a NULL, which this call may have left; the trace does not show where the program got it."


def traced_back(findings: Sequence[Finding], processes: Sequence[Facts]) -> tuple[Finding, ...]:
    """The findings, with uses of a null pointer told as part of the refused creation that left it. A launch that was only passed one,
    and may have faulted for that, is part of it where the NULL can have come from nowhere else."""
    by_pid = {facts.trace.pid: facts for facts in processes}
    found: list[Finding] = list(findings)
    told: set[int] = set()  # places in `found` that have a use already: later ones are the same story
    for used in sorted(filter(_is_use, findings), key=lambda one: one.site.number if one.site else 0):
        facts = by_pid.get(pid_of(used))
        refused = sorted(_refused(findings, used, facts), key=_rank) if facts else []
        if not refused or facts is None:
            continue
        at = findings.index(refused[0])
        whose: Attribution = "this" if _is_only_origin(refused, used, facts) else "probable"
        if used.certainty != "observed" and whose != "this":
            continue
        if at not in told:
            found[at] = _with_use(refused[0], used, whose)
        told.add(at)
        found[findings.index(used)] = found[at]
    return tuple({id(one): one for one in found}.values())


def _is_use(finding: Finding) -> bool:
    """Did a kernel access memory through an argument that is null, or may it have faulted there? A pointer that it loaded is not what
    a call returned."""
    launch = finding.site is not None and finding.site.launch is not None and finding.site.argument is not None
    return launch and finding.severity == "error" and finding.causes[:1] == (NULL,)


def _refused(findings: Sequence[Finding], used: Finding, facts: Facts) -> Iterator[Finding]:
    """Findings of calls that should have made memory before the launch and were refused."""
    assert used.site is not None
    for one in findings:
        site = one.site
        if site is None or one.scope != "fault" or pid_of(one) != pid_of(used) or site.number >= used.site.number:
            continue
        if site.status not in (None, "in flight") and _makes_memory(facts, site):
            yield one


def _makes_memory(facts: Facts, site: Site) -> bool:
    info = facts.trace.info(site.number - 1)
    return info.name == site.call and info.does == "create" and dict(info.fields).get("result", "") in MEMORY


def _is_only_origin(refused: Sequence[Finding], used: Finding, facts: Facts) -> bool:
    """Were calls refused at one place only, and did none like it succeed afterwards, as where a program tries again with less?"""
    sites = [one.site for one in refused if one.site]
    assert used.site is not None
    again = facts.trace.select(facts.trace.info(sites[0].number - 1))
    again = again[(again >= sites[0].number) & (again < used.site.number)]
    succeeded = bool((facts.trace.column("status", again) == 0).any())
    return len({(one.source, one.call) for one in sites}) == 1 and not succeeded


def _rank(finding: Finding) -> tuple[bool, int]:
    """One that says which value was wrong first, then the earliest."""
    assert finding.site is not None
    return finding.id in UNSPECIFIC, finding.site.number


def _with_use(refused: Finding, used: Finding, whose: Attribution) -> Finding:
    assert used.site is not None and refused.site is not None
    kernel = f"kernel {used.site.kernel} (launch {used.site.launch})"
    passed = Evidence(
        f"{refused.site.call} returned NULL, and the program passed that to {kernel} as argument {used.site.argument}", (used.site.number,)
    )
    seen = tuple(one for one in used.evidence if one not in refused.evidence)[:1]
    with_launch = replace(
        refused,
        severity="error",
        evidence=(*refused.evidence[:1], passed, *refused.evidence[1:], *seen),
        others=(*refused.others, used.site),
    )
    if whose == "this":
        with_launch = replace(with_launch, root=_own_frame(refused.site), steps=(_check(refused.site),))
    if used.certainty != "observed":
        return with_launch
    return replace(
        with_launch,
        certainty="observed",
        attribution=whose,
        because=USED if whose == "this" else PERHAPS,
    )


def _own_frame(site: Site) -> Site:
    """The call with the function that made it, which got its status; not with those that call it, for a wrapper to be passed over."""
    line = os.path.basename(site.source) if site.source else ""
    ends = next((at for at, frame in enumerate(site.host_stack, 1) if line and line in frame), len(site.host_stack))
    return replace(site, host_stack=site.host_stack[:ends])


def _check(site: Site) -> str:
    """What to do about the refusal is the program's affair; that it went on is the fault."""
    if site.api == "opencl":
        return f"Check the status that {site.call} stores in errcode_ret, and do not go on with the NULL that it returns."
    return f"Check the status that {site.call} returns, and do not go on with the null pointer."
