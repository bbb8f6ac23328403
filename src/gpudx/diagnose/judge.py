"""How each suggested cause stands after what was seen, and in which order they are told.

The rules, for one recorded run:

    confirmed     the fault is in the very call in which the failure surfaced, and the failure fits it: the call was
                  refused, or the fault address follows from the wrong value. In a run that passed: the fault stands in
                  the record itself, whatever it did to this run. What the device or a tool on it recorded is such a
                  fault too, where one launch can have made it.
    likely        the fault is certain and came before the failure, in the same process; that it caused the failure is
                  not shown. Or: something was certainly written outside an allocation, and one launch was given it, or
                  into memory that no launch was given, and one ran.
    inconclusive  only where it surfaced is known, or the fault is in a process that did not fail.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from gpudx.causes import Cause
from gpudx.causes import every as every_cause
from gpudx.diagnose import device_faults
from gpudx.diagnose.surface import REPORTED, SURFACE, same_call, surface_of, victim_of
from gpudx.model import (
    Allocation,
    Diagnosis,
    Evidence,
    Finding,
    Guilty,
    Hypothesis,
    Outcome,
    Site,
    Status,
    Verdict,
    Victim,
)

ORDER: dict[Status, int] = {"confirmed": 0, "likely": 1, "inconclusive": 2, "refuted": 3}
UNEXPLAINED = "unexplained"
ASSERTION = "device-assertion"
SANITIZER = "sanitizer-"
CONTRACT = "contract-violated"
FENCE_HIT, BESIDE, PRINTED = "fence-hit", "write-outside-allocation", "device-fault-printed"
ABORTED = "device-queue-aborted"
DIMENSIONS = "model-dimensions"
UNWRITTEN = "unwritten-memory-read-back"
BYSTANDER = "bystander-changed"
ABSENT, STALE, WHO_RAN = "probe-absent", "object-older-than-sources", "stale-executable"
VOID = (
    "All that was loaded was searched. What this run shows is of the program that ran, not of the one that was meant."
)
OLDER = (
    "What ran seems older than its sources; whether it lacks what they have now is not known. A text that only they have settles it "
    "(--probe TEXT), and so does a fresh build (gpudx investigate --rebuild CMD)."
)


def diagnose(findings: Sequence[Finding], outcome: Outcome) -> tuple[Diagnosis, ...]:
    """The diagnosis of a run, best first. What was not in the program at all is told before anything that is said of it."""
    absent = [f for f in findings if f.id == ABSENT]
    surface = surface_of(findings)
    void = [_tell(f, Verdict(_hypothesis(f), "confirmed", f.evidence, (), VOID), surface) for f in absent]
    told = {f.causes[:1] for f in absent}
    rest = [f for f in findings if f.id != ABSENT and not (f.causes and f.causes[:1] in told)]
    return (*void, *_faults(rest, outcome, surface))


def _faults(findings: Sequence[Finding], outcome: Outcome, surface: Finding | None) -> tuple[Diagnosis, ...]:
    """Why it failed. Warnings count only in runs that failed without an error being found."""
    suspects = _suspects(findings, outcome)
    verdicts = [(f, _judge(f, surface, outcome, suspects)) for f in suspects]
    verdicts.sort(key=lambda pair: (ORDER[pair[1].status], not same_call(pair[0], surface), *_place(pair[0])))
    told = tuple(_tell(f, v, surface) for f, v in verdicts)
    if surface and surface.id == REPORTED and not any(map(_is_fault, suspects)):
        return _in_order(_reported(surface), *told)
    if surface is None or outcome.kind == "passed" or not all(map(_beside, suspects)):
        return told
    return _in_order(_only_surface(surface), *told)


def _in_order(*entries: Diagnosis) -> tuple[Diagnosis, ...]:
    return tuple(sorted(entries, key=lambda entry: ORDER[entry.status]))


def _suspects(findings: Sequence[Finding], outcome: Outcome) -> list[Finding]:
    rest = [f for f in findings if f.id not in SURFACE and f.causes]
    faults = [f for f in rest if _is_fault(f)]
    beside = [f for f in rest if f.id == CONTRACT or (_beside(f) and f.severity == "error")]
    if faults or outcome.kind == "passed":
        return [*faults, *beside]
    return [*(f for f in rest if f.severity == "warning" and f.id != CONTRACT), *beside]


def _is_fault(finding: Finding) -> bool:
    """Is it a fault by itself? A contract says what is wrong with a launch, never that it is what a device reported."""
    return finding.severity == "error" and not _beside(finding)


def _beside(finding: Finding) -> bool:
    """Does it say something beside the failure: of a launch that somebody stated, or of what ran?"""
    return finding.id == CONTRACT or finding.causes[:1] == (WHO_RAN,)


def _place(finding: Finding) -> tuple[int, int]:
    return (finding.site.pid, finding.site.number) if finding.site else (0, 0)


def cause_of(finding: Finding) -> Cause:
    """The first cause that the finding suggests."""
    name = finding.causes[0] if finding.causes else finding.id
    return every_cause().get(name) or Cause(name, name, "", ())


def _hypothesis(finding: Finding) -> Hypothesis:
    cause = cause_of(finding)
    predicts = tuple(cause.predictions.values())
    return Hypothesis(cause.id, finding.message, predicts, cause.refutes_if, (finding.fingerprint,))


def _judge(finding: Finding, surface: Finding | None, outcome: Outcome, suspects: Iterable[Finding]) -> Verdict:
    suspects = list(suspects)
    status, reason = _status(finding, surface, outcome)
    if finding.id == DIMENSIONS and any(_is_stopped(finding, other) for other in suspects):
        status, reason = "confirmed", "The launch was stopped at the fence behind this very memory."
    counted = finding.evidence
    if surface is not None and status != "inconclusive":
        counted += tuple(e for e in surface.evidence if e not in counted)
    others = tuple(Evidence(f"Not counted here: {o.message}") for o in suspects if o is not finding)
    return Verdict(_hypothesis(finding), status, counted, others, reason)


def _status(finding: Finding, surface: Finding | None, outcome: Outcome) -> tuple[Status, str]:
    if finding.id == device_faults.ID:
        return _device_fault(finding)
    if finding.id == ASSERTION:
        return _assertion(finding)
    if finding.id == device_faults.RUNNING:
        return "likely", "It was on the device when the time was up; a larger --timeout tells slow from stuck."
    if finding.id.startswith(SANITIZER) and finding.severity == "error":
        return _sanitizer(finding, surface, outcome)
    if finding.id in (FENCE_HIT, BESIDE, PRINTED):
        return _fence(finding)
    if finding.id == ABORTED:
        return _aborted(finding)
    if finding.id == BYSTANDER and finding.severity == "error":
        return _bystander(finding)
    if finding.id == STALE and finding.severity == "error":
        return "likely", "What ran differs from its sources for certain; that it failed because of it is not shown."
    if finding.id == STALE and finding.details.get("lacks") and outcome.kind != "passed":
        return _likely(
            finding, "Its sources are newer, and it lacks a text of theirs; that it failed because of it is not shown."
        )
    if outcome.kind == "passed":
        return "confirmed", "The fault stands in the record itself; this run did not fail from it, another may."
    if finding.id == UNWRITTEN:
        shown = "that it failed from them is not shown: if it passes without --poison, it depends on them."
        return "likely", f"The program was given words that nobody wrote, and then failed; {shown}"
    if finding.severity == "warning" and finding.causes[:1] == (WHO_RAN,):
        return "inconclusive", OLDER
    if finding.severity == "warning":
        return "inconclusive", "This is unusual and came before the failure, but nothing ties the failure to it."
    if surface is None:
        return _likely(finding, _without_surface(finding))
    if finding.site and surface.site and not _same_process(finding, surface):
        return "inconclusive", "The fault is in another process than the one that failed."
    if surface.id == REPORTED:
        return _before_report(finding, surface)
    if finding.id == CONTRACT and same_call(finding, surface):
        return _likely(finding, "The program failed in this very call; that the broken contract is why is not shown.")
    if same_call(finding, surface):
        return _same_call(finding, surface)
    if finding.id == "ignored-error":
        return _likely(finding, "It is the first call that failed; what failed later came after it.")
    if _surfaced_in(finding, surface):
        return "confirmed", "The failure surfaced in a call that depends on the faulty one."
    return _likely(finding, "The fault is certain and came before the failure; that it caused it is not shown.")


def _without_surface(finding: Finding) -> str:
    if finding.site and finding.site.status not in (None, "in flight"):
        return "The driver refused this very call, and the program failed after it; that it failed because of it is not shown."
    return "The program failed after it, without a crash or a failing call that could be tied to it."


def _device_fault(finding: Finding) -> tuple[Status, str]:
    if finding.site is None:
        return "confirmed", "The device's own record names the kernel; which launch of it is not known."
    if finding.details.get("certain"):
        return "confirmed", "The device's own record fits this launch and no other that had other arguments."
    return "likely", "The device's own record fits this launch, and others whose arguments it does not tell apart."


def _assertion(finding: Finding) -> tuple[Status, str]:
    said = "The driver printed the assertion itself"
    if finding.details.get("certain"):
        return "confirmed", f"{said}, and only this launch can have met it."
    return "confirmed", f"{said}; which launch met it first is not told."


def _sanitizer(finding: Finding, surface: Finding | None, outcome: Outcome) -> tuple[Status, str]:
    """The tool looked at every access: that the fault is there is not in doubt, only what it did, and in which launch."""
    saw, uncertain = finding.details.get("saw", "the fault"), finding.details.get("uncertain")
    if finding.site is None or uncertain:
        return "likely", f"compute-sanitizer saw {saw} itself; {uncertain or 'no launch is known to have made it'}."
    reported = surface is not None and surface.id == REPORTED
    shown = outcome.kind == "passed" or (reported and surface is not None and _same_process(finding, surface))
    rest = "" if shown else " That the program failed from it is not shown."
    return "confirmed", f"compute-sanitizer saw {saw} itself, and no other launch can have made it.{rest}"


def _fence(finding: Finding) -> tuple[Status, str]:
    """The access itself was stopped, or its bytes were found: what is in doubt is only who made it."""
    if finding.details.get("by") == "host":
        return "confirmed", "The access itself was stopped, in the program's own code."
    if finding.details.get("certain"):
        return "confirmed", "The access itself left its mark, and no other launch can have made it."
    if finding.id == BESIDE and not finding.details.get("single"):
        return (
            "inconclusive",
            "The bytes were written; which of the launches since they were last whole did it is not told.",
        )
    if finding.id == BESIDE:
        return _likely(
            finding, "The bytes were whole before this launch, and no other was given this allocation since."
        )
    which = (
        "that this launch made it is not shown" if finding.site else "which of the work that was running made it is not"
    )
    return "likely", f"The access itself left its mark; {which}."


def _aborted(finding: Finding) -> tuple[Status, str]:
    """A status names a kind of failure, and no access: it is no cause by itself."""
    if finding.site:
        return "likely", "This launch is the only one that can have failed; the status says how, not at which address."
    return "inconclusive", "One of the launches that were running failed; the status does not say which."


def _bystander(finding: Finding) -> tuple[Status, str]:
    """That the bytes changed, and that no recorded work was given them, is certain."""
    if finding.details.get("certain"):
        return "confirmed", "The bytes changed under this very launch, and nothing else ran."
    if finding.details.get("single") and finding.details.get("each"):
        return (
            "likely",
            "The bytes changed under this very launch; that it had no address of them from elsewhere is not shown.",
        )
    if finding.details.get("single"):
        return _likely(finding, "It is the only launch between the two looks.")
    return "inconclusive", "The bytes were written; which of the launches between the two looks did it is not told."


def _is_stopped(finding: Finding, other: Finding) -> bool:
    """Did the very launch meet the fence behind the very memory? Its bytes are too few by exactly what is told."""
    if other.id != FENCE_HIT or finding.allocation is None or not other.details.get("certain"):
        return False
    return same_call(finding, other) and finding.allocation == other.allocation and bool(finding.details.get("needed"))


def _same_process(one: Finding, other: Finding) -> bool:
    return bool(one.site and other.site and one.site.pid == other.site.pid)


def _before_report(finding: Finding, surface: Finding) -> tuple[Status, str]:
    """A fault that the device reported later: only work that had not surely ended can have made it."""
    ended = surface.details.get("ended_before")
    if finding.site and isinstance(ended, int) and finding.site.number <= ended:
        return "inconclusive", "The fault is certain, but this work had ended before the work that faulted was started."
    after = bool(finding.site and surface.site and finding.site.number > surface.site.number)
    if after or (finding.id == CONTRACT and same_call(finding, surface)):  # a launch that reports did not run
        return "inconclusive", "The fault is certain, but the device had faulted before this was called."
    if finding.details.get("unreachable") and _is_the_one(finding, surface):
        return (
            "confirmed",
            "This very launch faulted on the device, and all memory that it was given is out of its reach.",
        )
    return _likely(finding, "It may have been running when the device faulted; that it is what faulted is not shown.")


def _is_the_one(finding: Finding, surface: Finding) -> bool:
    """Is the fault's own launch the only one that can have made what the device reported?"""
    only = surface.details.get("launches") == 1 and surface.details.get("single") and surface.details.get("complete")
    return bool(only and surface.others and finding.site) and same_call(
        finding, replace(surface, site=surface.others[0])
    )


def _same_call(finding: Finding, surface: Finding) -> tuple[Status, str]:
    if surface.details.get("decoded"):
        return (
            "confirmed",
            "The program crashed inside this very call, at an address that follows from the wrong value.",
        )
    if surface.id == "failed-call":
        return "confirmed", "The driver refused this very call."
    if surface.details.get("thread_known") is False:
        return "likely", "The program died while this very call was in flight; which thread died is not known."
    return "likely", "The program crashed inside this very call; the fault address does not show which value did it."


def _likely(finding: Finding, reason: str) -> tuple[Status, str]:
    settled = cause_of(finding).settled_by
    return "likely", reason + (f" It would be settled by {settled}." if settled else "")


def _surfaced_in(finding: Finding, surface: Finding) -> bool:
    """Is the failing call the launch that used what the finding is about, refused by the driver?"""
    launches = {(s.pid, s.number) for s in finding.others if s.launch is not None or s.status}
    return (
        surface.id == "failed-call" and surface.site is not None and (surface.site.pid, surface.site.number) in launches
    )


def _tell(finding: Finding, verdict: Verdict, surface: Finding | None) -> Diagnosis:
    cause = cause_of(finding)
    return Diagnosis(
        cause=cause.id,
        status=verdict.status,
        summary=finding.message,
        guilty=_guilty(finding.site, finding, surface),
        victim=victim_of(finding, surface),
        evidence=verdict.counted,
        refutes_if=cause.refutes_if,
        fix=cause.fix,
        reason=verdict.reason,
        findings=(finding.fingerprint,),
        not_counted=verdict.not_counted,
    )


def _guilty(site: Site | None, finding: Finding, surface: Finding | None = None) -> Guilty | None:
    if site is None:
        return None
    stack = site.host_stack or (
        surface.site.host_stack if surface and surface.site and same_call(finding, surface) else ()
    )
    return Guilty(
        api=site.api,
        call=site.call,
        number=site.number,
        kernel=site.kernel,
        launch=site.launch,
        argument=site.argument,
        argument_name=site.argument_name,
        value=site.value,
        allocation=_allocation(finding),
        source=site.source,
        host_stack=stack,
    )


def _allocation(finding: Finding) -> Allocation | None:
    if finding.allocation is None:
        return None
    size, state = finding.details.get("allocation_size"), finding.details.get("state")
    return Allocation(finding.allocation, size if isinstance(size, int) else None, str(state or "live"))


def _reported(surface: Finding) -> Diagnosis:
    """The reporting call is the victim. One launch is named only where no other can have done it, or is suspicious."""
    single = bool(surface.details.get("single")) and bool(surface.others)
    if single and surface.details.get("launches") == 1:
        return _only_launch(surface, surface.others[0])
    cause = cause_of(surface)
    return Diagnosis(
        cause=cause.id,
        status="likely" if single else "inconclusive",
        summary=_likely_summary(surface, surface.others[0]) if single else surface.message,
        guilty=_guilty(surface.others[0], surface) if single else None,
        victim=_innocent(surface),
        evidence=surface.evidence,
        refutes_if=cause.refutes_if,
        fix=cause.fix,
        findings=(surface.fingerprint,),
        reason=_why_odd(surface) if single else "Nothing recorded tells the launches apart.",
    )


def _why_odd(surface: Finding) -> str:
    if surface.details.get("suspicious") == 1:
        return "It is the only one with something odd among the launches that may have been running."
    return (
        "It is the first of the launches that may have been running with memory too small for them, the same for all."
    )


def _likely_summary(surface: Finding, launch: Site) -> str:
    short = surface.details.get("short")
    lead = f"most likely of launch {launch.launch} of kernel {launch.kernel}, where {short}"
    return _with(surface.message, lead if short else None)


def _with(sentence: str, more: object) -> str:
    return f"{sentence.rstrip('.')}; {more}." if more else sentence


def _only_launch(surface: Finding, launch: Site) -> Diagnosis:
    """Between the last good wait and the report only one launch ran: it is the one."""
    cause = every_cause().get(str(surface.details.get("cause"))) or cause_of(surface)
    said = surface.details.get("said") or "it failed on the device"
    return Diagnosis(
        cause=cause.id,
        status="confirmed" if surface.details.get("complete") else "likely",
        summary=_with(
            f"Launch {launch.launch} of kernel {launch.kernel} (call {launch.number}) failed: {said}.",
            surface.details.get("short"),
        ),
        guilty=_guilty(_with_stack(launch, surface), surface),
        victim=_innocent(surface),
        evidence=surface.evidence,
        refutes_if=cause.refutes_if,
        fix=cause.fix,
        findings=(surface.fingerprint,),
        reason=_why_only(surface),
    )


def _with_stack(launch: Site, surface: Finding) -> Site:
    """The recorder's own wait is made inside the launch call, so its stack is the launch's."""
    if launch.host_stack or not surface.details.get("own_wait") or surface.site is None:
        return launch
    return replace(launch, host_stack=surface.site.host_stack)


def _why_only(surface: Finding) -> str:
    only = "It is the only launch between the last wait that went well and the call that reported the fault."
    inferred = " Which of its arguments is inferred from sizes: the device did not say."
    return only + inferred if surface.details.get("short") else only


def _innocent(surface: Finding) -> Victim:
    if surface.details.get("own_wait"):
        return Victim("The wait that gpudx put behind the launch (--serialise) reported the fault.", surface.site)
    return Victim(f"{surface.site.call if surface.site else 'A call'} only reported the fault.", surface.site)


def _only_surface(surface: Finding) -> Diagnosis:
    """Only the place is known. A failing call that ended the program is named as what failed, not as why."""
    cause = cause_of(surface)
    status: Status = "likely" if surface.id == "failed-call" else "inconclusive"
    return Diagnosis(
        cause=cause.id,
        status=status,
        summary=surface.message,
        guilty=_guilty(surface.site, surface),
        victim=None,
        evidence=surface.evidence,
        refutes_if=cause.refutes_if,
        fix=cause.fix,
        findings=(surface.fingerprint,),
        reason="Where it surfaced is known; no recorded fact says why.",
    )


def unexplained(outcome: Outcome, calls: int) -> Diagnosis:
    """The program failed and nothing that was recorded is wrong: an honest end."""
    return Diagnosis(
        cause=UNEXPLAINED,
        status="inconclusive",
        guilty=None,
        victim=None,
        summary="Nothing that was recorded explains the failure.",
        evidence=(
            Evidence(outcome.summary),
            Evidence(f"{calls:,} recorded calls: none failed, none was in flight at the end."),
        ),
        refutes_if="A call would have failed or been in flight, or a detector would have found a fault.",
        fix=(
            "Read the program's own output above: the fault may be in its host code.",
            "Record again with --keep all if the report names gaps.",
        ),
        reason="No detector found a fault and no call failed.",
    )
