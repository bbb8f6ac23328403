"""How each suggested cause stands after what was seen, and in which order they are reported.

Two tables decide. What an instrument OBSERVED is certain; only whose act it was can be in doubt. What is only RECORDED (a wrong
value, a missing order) is certain too; what is in doubt is whether the failure came from it, so its relation to the symptom
decides. A finding may bring its own sentence (`because`); otherwise the reason is that of its row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from gpudx.diagnose import entries
from gpudx.diagnose.processes import folded
from gpudx.diagnose.surface import Symptoms, pid_of, same_call
from gpudx.model import Attribution, Certainty, Diagnosis, Evidence, Finding, Outcome, ProcessInfo, Status, Verdict

ORDER: dict[Status, int] = {"confirmed": 0, "likely": 1, "inconclusive": 2, "refuted": 3}
MOST_ENTRIES = 50  # diagnoses in a case; what they rest on is in its findings
MOST_OTHERS = 4  # other findings that an entry names

# How a recorded fault stands to the symptom.
Relation = Literal[
    "observed there",
    "survived",
    "unusual",
    "no symptom",
    "refused, no symptom",
    "other process",
    "ended before",
    "after the report",
    "cannot succeed",
    "may have been running",
    "crash follows from the value",
    "crash in a call that cannot succeed",
    "crash in a launch that cannot succeed",
    "refused",
    "in flight, thread unknown",
    "crash in the call",
    "stated, failed in the call",
    "refused dependent call",
    "hang depends on it",
    "before the failure",
]


@dataclass(frozen=True)
class Rule:
    """A row: the status, and the reason where the finding has none of its own. `own`: may the finding's reason replace it?"""

    status: Status
    reason: str
    own: bool = False


OBSERVED: dict[Attribution, Rule] = {
    "this": Rule("confirmed", "The fault itself was observed, and nothing else could have caused it.", own=True),
    "kernel": Rule(
        "confirmed", "The fault itself was observed in this kernel; it is not known in which launch.", own=True
    ),
    "probable": Rule("likely", "The fault itself was observed; it is not shown that this call caused it.", own=True),
    "one of": Rule("likely", "The fault itself was observed; it is not known which of the launches caused it.", own=True),
    "unknown": Rule("inconclusive", "The fault itself was observed; what caused it is not known.", own=True),
}
PROGRAM: dict[Certainty, Rule] = {
    "observed": Rule("confirmed", "The program that ran is not the intended one.", own=True),
    "recorded": Rule(
        "likely", "The program that ran differs from its sources; the trace does not show that this caused the failure.", own=True
    ),
    "inferred": Rule("inconclusive", "The program that ran may be older than its sources; nothing proves it.", own=True),
}  # fmt: skip
RECORDED: dict[Relation, Rule] = {
    "observed there": Rule("confirmed", "An access outside this buffer was observed in this launch."),
    "survived": Rule("confirmed", "The fault is visible in the trace, whether or not a run survives it."),
    "unusual": Rule("inconclusive", "This is unusual and came before the failure, but nothing ties the failure to it."),
    "no symptom": Rule("likely", "The program failed after it, without a crash or a failing call that could be tied to it.", own=True),
    "refused, no symptom": Rule("likely", "The driver refused this call; it is not shown that the program failed because of it."),
    "other process": Rule("inconclusive", "The fault is in another process than the one that failed."),
    "ended before": Rule("inconclusive", "The fault is certain, but this work had ended before the work that faulted was started."),
    "after the report": Rule("inconclusive", "The fault is certain, but the device had faulted before this was called."),
    "cannot succeed": Rule("confirmed", "This launch faulted on the device, and it cannot run without a fault.", own=True),
    "may have been running": Rule("likely", "It may have been running when the device faulted; it is not shown that it caused the fault."),
    "crash follows from the value": Rule("confirmed", "It crashed in this call, and the fault address follows from the value."),
    "crash in a call that cannot succeed": Rule("confirmed", "It crashed inside this call, which cannot succeed with what it was passed."),
    "crash in a launch that cannot succeed": Rule("confirmed", "It crashed in the launch that was passed this, which cannot succeed."),
    "refused": Rule("confirmed", "The driver refused this call."),
    "in flight, thread unknown": Rule("likely", "The program died while this call was in flight; it is not known which thread died."),
    "crash in the call": Rule("likely", "The program crashed inside this call; the fault address does not show which value did it."),
    "stated, failed in the call": Rule("likely", "The program failed in this call; it is not shown that the broken contract is why."),
    "refused dependent call": Rule("confirmed", "The failure appeared in a call that depends on the faulty one."),
    "hang depends on it": Rule("confirmed", "The program hung in a call that cannot return because of it.", own=True),
    "before the failure": Rule("likely", "The fault is certain and precedes the failure; it is not shown that it is the cause.", own=True),
}  # fmt: skip
UNTIED = "No run was made without it: the program may fail for another reason as well."


def diagnose(
    findings: Sequence[Finding], outcome: Outcome, processes: Sequence[ProcessInfo] = ()
) -> tuple[Diagnosis, ...]:
    """The diagnosis of a run, best first. That another program ran than was meant comes before anything that is said of it."""
    symptoms = Symptoms(findings, processes)
    absent = [f for f in findings if _is_void(f)]
    void = [_entry(f, _verdict(f, symptoms, outcome, ()), symptoms) for f in absent]
    told = {f.causes[:1] for f in absent}
    rest = [f for f in findings if not _is_void(f) and not (f.causes and f.causes[:1] in told)]
    found = (*void, *_ranked(rest, outcome, symptoms))
    return folded(found, processes)[:MOST_ENTRIES]


def _ranked(findings: Sequence[Finding], outcome: Outcome, symptoms: Symptoms) -> list[Diagnosis]:
    """Why it failed; for each process in which nothing recorded says why, where it failed."""
    suspects = _suspects(findings, outcome)
    judged = [(f, _verdict(f, symptoms, outcome, suspects)) for f in suspects]
    seen = {id(f) for f in suspects if _is_seen(f, suspects)}  # they say why; the access itself only says what happened
    judged.sort(key=lambda pair: (ORDER[pair[1].status], id(pair[0]) not in seen, *_place(pair[0], symptoms)))
    places = _only_places(suspects, outcome, symptoms)
    told = [(f, _entry(f, v, symptoms)) for f, v in judged]
    found = [*places, *(replace(entry, observed=entry.observed or id(f) in seen) for f, entry in told)]
    return sorted(found, key=lambda entry: ORDER[entry.status])


def _only_places(suspects: Sequence[Finding], outcome: Outcome, symptoms: Symptoms) -> list[Diagnosis]:
    """The symptoms of processes in which no fault was found. A device error is a failure even where the program passed."""
    found = []
    for pid, symptom in symptoms.by_pid.items():
        mine = [f for f in suspects if pid_of(f) in (0, pid) or not pid]
        reported = symptom.symptom is not None and symptom.symptom.interval is not None
        hung = symptom.symptom is not None and symptom.symptom.kind == "hang"  # a launch that did not end is more than a warning
        faults = any(map(_is_fault, mine)) if reported or hung else any(f.scope == "fault" for f in mine)
        if not faults and (reported or outcome.failed):
            found.append(entries.of_symptom(symptom))
    return found


# ---- who is a suspect ----


def _is_void(finding: Finding) -> bool:
    """Did another program run than was meant, for certain? Then nothing is known of the one that was meant."""
    return finding.scope == "program" and finding.certainty == "observed"


def _suspects(findings: Sequence[Finding], outcome: Outcome) -> list[Finding]:
    """Faults, and what is known beside them. Warnings count only in runs that failed, by themselves, without a fault being found."""
    named = [f for f in findings if f.scope in ("fault", "program", "stated") and f.causes]
    faults = [f for f in named if _is_fault(f)]
    beside = [f for f in named if f.scope == "stated" or (f.scope == "program" and _is_shown(f))]
    if faults or not outcome.failed_itself:
        return [*faults, *beside]
    return [*(f for f in named if f.severity == "warning" and f.scope != "stated"), *beside]


def _is_shown(finding: Finding) -> bool:
    """Is it more than a guess that another program ran than was meant? Whoever fixes a fault of the old one fixes nothing."""
    return finding.severity == "error" or finding.certainty == "recorded"


def _is_fault(finding: Finding) -> bool:
    return finding.severity == "error" and finding.scope == "fault"


def _place(finding: Finding, symptoms: Symptoms) -> tuple[bool, int, int, int, bool]:
    """Of two at one call, the one that is about this very call says more."""
    number = finding.site.number if finding.site else 0
    there = not same_call(finding, symptoms.of(finding))
    return there, symptoms.place(pid_of(finding)), pid_of(finding), number, finding.attribution != "this"


# ---- how it stands ----


def _verdict(finding: Finding, symptoms: Symptoms, outcome: Outcome, suspects: Sequence[Finding]) -> Verdict:
    symptom = symptoms.of(finding)
    rule = _rule(finding, symptom, outcome, suspects)
    counted = finding.evidence
    if symptom is not None and rule.status != "inconclusive" and not _holds_up(finding, symptom):  # it names the wait itself
        counted += tuple(e for e in symptom.evidence if e not in counted)
    return Verdict(entries.hypothesis(finding), rule.status, counted, _others(finding, suspects), rule.reason)


def _rule(finding: Finding, symptom: Finding | None, outcome: Outcome, suspects: Sequence[Finding]) -> Rule:
    """The row that applies, with the reason as it is reported."""
    if finding.scope == "program":
        return _reasoned(PROGRAM[finding.certainty], finding)
    if finding.certainty == "observed":
        rule = _reasoned(OBSERVED[finding.attribution], finding)
        untied = rule.status == "confirmed" and outcome.failed and not _tied(finding, symptom)
        return replace(rule, reason=f"{rule.reason} {UNTIED}") if untied else rule
    rule = _reasoned(RECORDED[_relation(finding, symptom, outcome, suspects)], finding)
    settled = entries.settled_by(finding) if rule.status == "likely" else ""
    return replace(rule, reason=f"{rule.reason} It would be settled by {settled}.") if settled else rule


def _reasoned(rule: Rule, finding: Finding) -> Rule:
    return replace(rule, reason=finding.because) if rule.own and finding.because else rule


def _tied(finding: Finding, symptom: Finding | None) -> bool:
    """Is the failure what an observed fault does: the device reported one, or the program died at this very access?"""
    if symptom is None or symptom.symptom is None or _in_other_process(finding, symptom):
        return False
    if symptom.symptom.kind == "device error" or same_call(finding, symptom):
        return True
    addresses = [one.access.address for one in (finding, symptom) if one.access and one.access.address is not None]
    return len(addresses) == 2 and addresses[0] == addresses[1]


def _relation(finding: Finding, symptom: Finding | None, outcome: Outcome, suspects: Sequence[Finding]) -> Relation:
    if _is_seen(finding, suspects):
        return "observed there"
    if not outcome.failed_itself and not (symptom and symptom.reports_device_error):
        return "survived"
    if finding.severity == "warning" or finding.certainty == "inferred":
        return "unusual"
    if symptom is None or symptom.symptom is None:
        refused = finding.site is not None and finding.site.status not in (None, "in flight")
        return "refused, no symptom" if refused else "no symptom"
    if _in_other_process(finding, symptom):
        return "other process"
    if symptom.symptom.interval:
        return _to_device_error(finding, symptom)
    hung = symptom.symptom.kind == "hang"  # the call in flight is where it waits, and not what was refused or crashed
    return _in_call(finding, symptom) if same_call(finding, symptom) and not hung else _before(finding, symptom)


def _is_seen(finding: Finding, suspects: Sequence[Finding]) -> bool:
    """Is it a buffer that is too small, and was the access observed that it is too small for?"""
    small = finding.allocation is not None and bool(finding.allocation.needed)
    return small and finding.certainty != "observed" and any(_shows(other, finding) for other in suspects)


def _shows(other: Finding, finding: Finding) -> bool:
    """Was the access observed that a buffer is too small for, at that very launch?"""
    memory, seen = finding.allocation, other.allocation
    if other.certainty != "observed" or other.attribution != "this" or memory is None or seen is None:
        return False
    return memory.id == seen.id and same_call(finding, other)


def _in_other_process(finding: Finding, symptom: Finding) -> bool:
    one, other = pid_of(finding), pid_of(symptom)
    return bool(one and other and one != other)


def _to_device_error(finding: Finding, symptom: Finding) -> Relation:
    """A fault that the device reported later: only work that had not surely ended can have caused it."""
    assert symptom.symptom is not None and symptom.symptom.interval is not None
    interval = symptom.symptom.interval
    if finding.site and finding.site.number <= interval.ended_before:
        return "ended before"
    after = bool(finding.site and symptom.site and finding.site.number > symptom.site.number)
    if after or (finding.scope == "stated" and same_call(finding, symptom)):  # a launch that reports did not run
        return "after the report"
    alone = interval.launches == 1 and interval.single and interval.complete and bool(symptom.others)
    if finding.inevitable and alone and same_call(finding, replace(symptom, site=symptom.others[0])):
        return "cannot succeed"
    return "may have been running"


def _in_call(finding: Finding, symptom: Finding) -> Relation:
    assert symptom.symptom is not None
    if finding.scope == "stated":
        return "stated, failed in the call"
    if symptom.symptom.decoded and _is_about(finding, symptom.symptom.decoded):
        return "crash follows from the value"
    if symptom.symptom.kind == "failed call":
        return "refused"
    if finding.inevitable and symptom.symptom.thread_known:
        return "crash in a call that cannot succeed"
    return "crash in the call" if symptom.symptom.thread_known else "in flight, thread unknown"


def _is_about(finding: Finding, decoded: str) -> bool:
    """Is the value that the fault address follows from ("value 0x48000 + 0xd8") the one that the finding is about?"""
    return finding.site is not None and bool(finding.site.value) and str(finding.site.value) in decoded.split()


def _before(finding: Finding, symptom: Finding) -> Relation:
    """Is the failing call a launch that used what the finding is about, refused by the driver, or one that the driver crashed in?"""
    if _holds_up(finding, symptom):
        return "hang depends on it"
    assert symptom.symptom is not None
    calls = {(s.pid, s.number) for s in finding.others if s.launch is not None or s.status}
    dependent = symptom.site is not None and (symptom.site.pid, symptom.site.number) in calls and finding.attribution == "this"
    if dependent and symptom.symptom.kind == "failed call":
        return "refused dependent call"
    died = symptom.symptom.kind == "crash in call" and symptom.symptom.thread_known
    return "crash in a launch that cannot succeed" if dependent and died and finding.inevitable else "before the failure"


def _holds_up(finding: Finding, symptom: Finding) -> bool:
    """Did the program hang in a call that cannot return because of the finding?"""
    hung = symptom.symptom is not None and symptom.symptom.kind == "hang" and symptom.site is not None
    waits = {(s.pid, s.number) for s in finding.others}
    return hung and finding.inevitable and symptom.site is not None and (symptom.site.pid, symptom.site.number) in waits


# ---- the entry ----


def _others(finding: Finding, suspects: Sequence[Finding]) -> tuple[Evidence, ...]:
    """The other findings, so that a reader can weigh them: a few, however many there are."""
    others = [one for one in suspects if one is not finding]
    named = [Evidence(f"Not counted here: {one.message}") for one in others[:MOST_OTHERS]]
    more = len(others) - len(named)
    return (*named, *([Evidence(f"Not counted here: {more:,} more findings of this case.")] if more > 0 else []))


def _entry(finding: Finding, verdict: Verdict, symptoms: Symptoms) -> Diagnosis:
    return entries.of_finding(finding, verdict, symptoms.of(finding))
