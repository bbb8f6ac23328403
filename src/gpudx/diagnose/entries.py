"""The entries of a diagnosis: a judged finding, or a symptom that nothing recorded explains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gpudx.causes import Cause
from gpudx.causes import every as every_cause
from gpudx.diagnose.surface import pid_of, same_call, victim_of
from gpudx.model import (
    Diagnosis,
    Evidence,
    Finding,
    Guilty,
    Hypothesis,
    Interval,
    Outcome,
    Site,
    Status,
    Verdict,
    Victim,
)
from gpudx.text import plural

UNEXPLAINED = "unexplained"

NOT_ENDED = "Breadcrumbs show that its stream reached it and that it had not ended; a larger --timeout shows whether it is slow or stuck."


def cause_of(finding: Finding) -> Cause:
    """The first cause that the finding suggests."""
    name = finding.causes[0] if finding.causes else finding.id
    return every_cause().get(name) or Cause(name, name, "", ())


def hypothesis(finding: Finding) -> Hypothesis:
    cause = cause_of(finding)
    predicts = tuple(cause.predictions.values())
    return Hypothesis(cause.id, finding.message, predicts, cause.refutes_if, (finding.fingerprint,))


def of_finding(finding: Finding, verdict: Verdict, symptom: Finding | None) -> Diagnosis:
    """A finding as it was judged."""
    cause = cause_of(finding)
    return Diagnosis(
        cause=cause.id,
        status=verdict.status,
        summary=finding.message,
        guilty=_guilty(finding.site, finding, symptom),
        victim=victim_of(finding, symptom),
        evidence=_with_framework(verdict.counted, finding.site),
        refutes_if=cause.refutes_if,
        fix=_steps(finding, cause),
        reason=verdict.reason,
        findings=(finding.fingerprint,),
        not_counted=verdict.not_counted,
        processes=_processes(finding),
        observed=finding.certainty == "observed",
        access=finding.access,
        root=finding.root,
    )


def _with_framework(evidence: tuple[Evidence, ...], site: Site | None) -> tuple[Evidence, ...]:
    """What the framework was doing, in its own words, behind the first fact."""
    if site is None or site.framework is None:
        return evidence
    known, calls = site.framework, (site.number,)
    made = [Evidence(f"made {known.text}", calls)] if known.text else []
    kernel = [Evidence(f"kernel {site.kernel} is defined at {known.defined}", calls)] if known.defined else []
    return (*evidence[:1], *made, *kernel, *evidence[1:])


def of_symptom(finding: Finding) -> Diagnosis:
    """A failure for which only the place is known."""
    interval = finding.symptom.interval if finding.symptom else None
    if interval is None:
        return _only_place(finding)
    if interval.single and interval.launches == 1 and finding.others:
        return _only_launch(finding, interval, finding.others[0])
    return _reported(finding, interval)


def _steps(finding: Finding, cause: Cause) -> tuple[str, ...]:
    """What the finding says of its own place, else the advice that holds for every place of this cause."""
    return finding.steps or cause.steps(_api(finding))


def _api(finding: Finding) -> str:
    """The API that a finding is about: "opencl", "cuda", "hip"; "" where no call is known."""
    return next((site.api for site in (finding.site, *finding.others, finding.root) if site and site.api), "")


def settled_by(finding: Finding) -> str:
    """The run that would settle whether this is the cause, as it fits the program."""
    return cause_of(finding).settled(_api(finding))


def _processes(finding: Finding) -> tuple[int, ...]:
    return (pid,) if (pid := pid_of(finding)) else ()


def _guilty(site: Site | None, finding: Finding, symptom: Finding | None = None) -> Guilty | None:
    if site is None:
        return None
    crashed = symptom.site if symptom and same_call(finding, symptom) else None
    stack = site.host_stack or (crashed.host_stack if crashed else ())
    return replace(Guilty.at(site, finding.allocation), value=site.value, host_stack=stack)


# ---- errors that the device reported ----


def _reported(finding: Finding, interval: Interval) -> Diagnosis:
    """The reporting call is the victim. One launch is named only where nothing but it is suspicious."""
    cause, single = cause_of(finding), interval.single and bool(finding.others)
    return Diagnosis(
        cause=cause.id,
        status="likely" if single else "inconclusive",
        summary=_likely_summary(finding, interval, finding.others[0]) if single else finding.message,
        guilty=_guilty(finding.others[0], finding) if single else None,
        victim=_innocent(finding, interval),
        evidence=_with_framework(finding.evidence, finding.others[0] if single else None),
        refutes_if=cause.refutes_if,
        fix=_steps(finding, cause),
        findings=(finding.fingerprint,),
        reason=_why_odd(interval) if single else "Nothing in the trace distinguishes these launches.",
        processes=_processes(finding),
        root=_too_small(finding, interval) if single else None,
    )


def _why_odd(interval: Interval) -> str:
    if interval.suspicious == 1:
        return "It is the only suspicious one among the launches that may have been running."
    return "It is the first of several launches that may have been running with the same buffer, which is too small for each."


def _likely_summary(finding: Finding, interval: Interval, launch: Site) -> str:
    name = _called(launch)
    lead = f"most likely {name[:1].lower()}{name[1:]}"
    return _with(finding.message, f"{lead}, where {interval.short}" if interval.short else "")


def _called(launch: Site) -> str:
    if launch.launch is None:
        return f"The graph launched by {launch.call} (call {launch.number})"
    return f"Launch {launch.launch} of kernel {launch.kernel} (call {launch.number})"


def _with(sentence: str, more: str) -> str:
    return f"{sentence.rstrip('.')}; {more}." if more else sentence


def _only_launch(finding: Finding, interval: Interval, launch: Site) -> Diagnosis:
    """Between the last good wait and the report only one launch ran, so it is the place. What the status alone says is no cause:
    an illegal address may come from a bad size, a bad pointer, or the stack. A size that does not fit supports it."""
    cause = every_cause().get(interval.cause) or cause_of(finding)
    said = interval.said or "it failed on the device"
    head = f"{_called(launch)} failed: {said}."
    status: Status = "confirmed" if interval.complete and interval.short else "likely"
    return Diagnosis(
        cause=cause.id,
        status=status,
        summary=_with(head, interval.short),
        guilty=_guilty(_with_stack(launch, finding, interval), finding),
        victim=_innocent(finding, interval),
        evidence=_with_framework(finding.evidence, launch),
        refutes_if=cause.refutes_if,
        fix=_steps(finding, cause),
        findings=(finding.fingerprint,),
        reason=_why_only(interval),
        processes=_processes(finding),
        root=_too_small(finding, interval),
    )


def _too_small(finding: Finding, interval: Interval) -> Site | None:
    """The allocation of the buffer that does not fit the launch's sizes: the line to change."""
    return finding.allocation.made if interval.short and finding.allocation else None


def _with_stack(launch: Site, finding: Finding, interval: Interval) -> Site:
    """The recorder's own wait is made inside the launch call, so its stack is the launch's."""
    if launch.host_stack or not interval.own_wait or finding.site is None:
        return launch
    return replace(launch, host_stack=finding.site.host_stack)


def _why_only(interval: Interval) -> str:
    only = "It is the only launch between the last wait that succeeded and the call that reported the fault"
    if interval.completed is not None:
        only = "Breadcrumbs show that it had not completed when the device stopped, and that no other launch was open"
    if not interval.complete:
        return f"{only}, as far as the record goes: some work is missing from it."
    if interval.short:
        return f"{only}. Which of its arguments is inferred from sizes: the device did not say."
    return f"{only}. The reason is not known: the status alone does not say which access went wrong."


def _innocent(finding: Finding, interval: Interval) -> Victim:
    if interval.own_wait:
        return Victim("The wait that gpudx added after the launch (--serialise) reported the fault.", finding.site)
    return Victim(f"{finding.site.call if finding.site else 'A call'} only reported the fault.", finding.site)


# ---- other symptoms ----


def _only_place(finding: Finding) -> Diagnosis:
    """A failing call that ended the program is named as what failed, not as why."""
    cause = cause_of(finding)
    refused = finding.symptom is not None and finding.symptom.kind == "failed call"
    named = finding.symptom is not None and finding.symptom.named
    return Diagnosis(
        cause=cause.id,
        status="likely" if refused or named else "inconclusive",
        summary=finding.message,
        guilty=_guilty(finding.site, finding),
        victim=None,
        evidence=_with_framework(finding.evidence, finding.site),
        refutes_if=cause.refutes_if,
        fix=_steps(finding, cause),
        findings=(finding.fingerprint,),
        reason=finding.because or NOT_ENDED
        if named
        else "The place of the failure is known; no recorded fact explains why.",
        processes=_processes(finding),
    )


KEEP_ALL = "--keep all"  # in the gap that it closes


def unexplained(outcome: Outcome, calls: int, failed: int, open_calls: int, gaps: Sequence[str] = ()) -> Diagnosis:
    """The program failed and nothing that was recorded is wrong: an honest end."""
    bad = plural(failed, "call") + " failed" if failed else "no call failed"
    busy = (
        plural(open_calls, "call") + " had not returned at the end" if open_calls else "none was in flight at the end"
    )
    return Diagnosis(
        cause=UNEXPLAINED,
        status="inconclusive",
        guilty=None,
        victim=None,
        summary="No recorded call explains the failure.",
        evidence=(Evidence(outcome.summary), Evidence(f"{plural(calls, 'call')} recorded; {bad}, {busy}.")),
        refutes_if="A detector found a fault in what was recorded.",
        fix=(
            "Read the program's own output: the fault may be in its host code.",
            *(["Record again with --keep all."] if any(KEEP_ALL in gap for gap in gaps) else []),
        ),
        reason="No detector found a fault.",
    )
