"""The program was stopped because it did not end: what it was waiting for.

A wait that does not return waits for something that was queued before: a kernel whose loop does not end for these
arguments, a barrier that not all work-items reach, an event that nobody completes. The calls in flight are named with
their threads, and behind a wait everything that was queued there and is not known to be done.

Example:

    cl_event go = clCreateUserEvent(context, &status);
    clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &n, NULL, 1, &go, NULL);
    clFinish(queue);                                     // nobody calls clSetUserEventStatus(go, CL_COMPLETE)

Mend it at the launch that was queued last before the wait, or by completing the event. A larger --timeout tells slow
from stuck.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gpudx.detectors import Run
from gpudx.detectors._in_flight import events_of, maker_of, open_calls, open_launches, pending
from gpudx.detectors._words import several, site_of, sites_of
from gpudx.facts import Facts
from gpudx.model import Cause, Evidence, Finding, Site, Symptom

ID = "hang"
CAUSE = Cause(
    id=ID,
    title="The program waited for work that did not finish",
    refutes_if="The call in flight would have returned on its own with more time.",
    fix=(
        (
            "Look at the launch that was queued last before the wait: does its loop end for these arguments, do "
            "all threads reach its barriers?"
        ),
        "Run again with a larger --timeout to tell slow from stuck.",
    ),
    fix_of=(("cuda", "Run again with --dump and --timeout to see which kernel is on the device, and at which line."),),
    predicts=(("recorded", "a wait is in flight at the timeout"),),
    settled_by="a run with ten times the time",
)
SHOWN = 8
ENDED = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGKILL")  # what people and launchers end programs with


def detect(facts: Facts, run: Run) -> Iterator[Finding]:
    """At most one finding for a process."""
    calls = [int(p) for p in open_calls(facts)]
    if run.outcome.kind == "timeout" and (calls or not facts.trace.ended):
        yield _stuck(facts, run, calls) if calls else _elsewhere(facts, run)
    elif run.outcome.signal in ENDED and facts.trace.last_words is None and any(_waits(facts, p) for p in calls):
        yield _stuck(facts, run, calls)


def _stuck(facts: Facts, run: Run, calls: list[int]) -> Finding:
    main = next((p for p in calls if _waits(facts, p)), calls[0])
    site = site_of(facts, main)
    reasons = list(_reasons(facts, main))
    evidence = [
        Evidence(f"thread {s.tid} was in {s.call} for up to {_waited(facts, run, s.number - 1):.1f} s", (s.number,))
        for s in sites_of(facts, calls[:SHOWN])
    ]
    behind = f": {reasons[0].text}" if reasons else ""
    return Finding(
        id=ID,
        severity="error",
        evidence=(*evidence, *reasons),
        site=site,
        causes=(ID,),
        message=_message(run, site, behind),
        others=sites_of(facts, [p for p in calls if p != main][:SHOWN]),
        facts=(("call", site.call), ("kernels", _kernels(facts, main))),
        scope="symptom",
        symptom=Symptom("hang"),
    )


def _message(run: Run, site: Site, behind: str) -> str:
    """A program that somebody ended may have been slow, not stuck: what is known is where it was."""
    if run.outcome.kind == "timeout":
        return f"The program hung in {site.call} (call {site.number}){behind}."
    return f"{run.outcome.signal} ended the program while it waited in {site.call} (call {site.number}){behind}."


def _waits(facts: Facts, position: int) -> bool:
    """Does this call return only when the device is done?"""
    return facts.trace.info(position).does == "wait" or bool(facts.trace.record(position).get("blocking"))


def _waited(facts: Facts, run: Run, position: int) -> float:
    """Seconds from the call to the end of the run, which began before the first recorded call: an upper bound."""
    began = float(facts.trace.seconds(facts.trace.column("begin", np.array([position])))[0])
    return max(run.outcome.duration_s - began, 0.0)


# ---- what a wait waits for ----


def _reasons(facts: Facts, position: int) -> Iterator[Evidence]:
    if not _waits(facts, position):
        return
    commands = _behind(facts, position)
    for event in _events(facts, position, commands):
        maker = maker_of(facts, event, position)
        if maker is not None and _forgotten(facts, event, maker):
            yield _never_completed(facts, maker)
    if commands:
        names = [_command(facts, p) for p in commands]
        text = f"queued before it and not known to be done, latest first: {several(names, SHOWN)}"
        yield Evidence(text, tuple(p + 1 for p in commands[:SHOWN]))


def _behind(facts: Facts, position: int) -> list[int]:
    """Commands that the wait waits for, latest first: those of its queue, or of the queues its events come from."""
    makers = [m for e in events_of(facts, position)[:SHOWN] if (m := maker_of(facts, e, position)) is not None]
    queues = {facts.trace.record(p).get("queue") for p in (position, *makers)}
    found = {int(p) for queue in queues if queue for p in pending(facts, queue, position)}
    return sorted(found or open_launches(facts, position), reverse=True)


def _events(facts: Facts, position: int, commands: list[int]) -> list[int]:
    """Events that the wait and the commands behind it wait for."""
    found = events_of(facts, position)
    for command in commands[:SHOWN]:
        found += [int(e) for e in np.frombuffer(facts.trace.array(command, "waits"), "<u8")]
    return list(dict.fromkeys(found))[:SHOWN]


def _forgotten(facts: Facts, event: int, maker: int) -> bool:
    """An event made for the program to complete, and never completed."""
    trace = facts.trace
    if trace.info(maker).does != "create":
        return False
    for info in trace.schema.doing("signal"):
        positions = trace.select(info)
        if ((trace.field(info, "event", positions) == event) & (positions > maker)).any():
            return False
    return True


def _never_completed(facts: Facts, maker: int) -> Evidence:
    name = facts.trace.info(maker).name
    return Evidence(
        f"it waits for the event that {name} made in call {maker + 1}, which nothing ever completed", (maker + 1,)
    )


def _command(facts: Facts, position: int) -> str:
    row = facts.launches.at_position(position)
    what = (
        f"launch {row + 1} of kernel {facts.launches.name(row)}" if row is not None else facts.trace.info(position).name
    )
    return f"{what} (call {position + 1})"


def _kernels(facts: Facts, position: int) -> str:
    """Names for the fingerprint: the kernels that were pending, once each."""
    rows = [facts.launches.at_position(p) for p in _behind(facts, position)]
    return ",".join(sorted({facts.launches.name(r) for r in rows if r is not None}))


# ---- not in any call ----


def _elsewhere(facts: Facts, run: Run) -> Finding:
    last = [int(p) for p in _last_calls(facts)]
    evidence = [
        Evidence(f"the last call of thread {s.tid} was {s.call}, which had returned", (s.number,))
        for s in sites_of(facts, last)
    ]
    return Finding(
        id=ID,
        severity="error",
        causes=(ID,),
        facts=(("call", ""),),
        scope="symptom",
        symptom=Symptom("hang"),
        message="The program hung outside of all recorded calls: it was busy, or waiting, in its own code.",
        evidence=tuple(evidence) or (Evidence("no call had been recorded"),),
    )


def _last_calls(facts: Facts) -> list[int]:
    """The last call of each thread, latest first."""
    notes = np.array([c.api == "note" for c in facts.trace.schema.calls])
    positions = np.flatnonzero(~notes[facts.trace.call])
    _, last = np.unique(facts.trace.column("tid", positions)[::-1], return_index=True)
    return sorted((int(positions[len(positions) - 1 - i]) for i in last), reverse=True)[:SHOWN]
