"""The program was stopped because it did not end: which launch does not end, and what waits for it.

A wait that does not return waits for something that was queued before: a kernel whose loop does not end for these arguments, a
barrier that not all work-items reach, an event that is never completed. If breadcrumbs were recorded, the report names the
launch that each stream is at, and what waits behind it. Without them it lists everything that was queued before the wait and is
not known to be complete.

Example:

    cl_event go = clCreateUserEvent(context, &status);
    clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &n, NULL, 1, &go, NULL);
    clFinish(queue);                                     // clSetUserEventStatus(go, CL_COMPLETE) is never called

Fix it at the launch that does not end, or by completing the event. A larger --timeout shows whether it is slow or stuck.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gpudx.detectors import Run
from gpudx.detectors._in_flight import events_of, maker_of, open_launches, pending
from gpudx.detectors._user_events import forgotten_events, held_by_program
from gpudx.detectors._words import placed, site_of, sites_of
from gpudx.facts import Facts
from gpudx.facts.callbacks import open_callbacks
from gpudx.facts.crumbs import Front
from gpudx.facts.stuck import described, held_by, is_wait, stuck_fronts, suspicions, waiting_for_none, work_name
from gpudx.model import Cause, Evidence, Finding, Symptom
from gpudx.text import capital, duration, several

ID = "hang"
MORE_TIME = "Run again with a larger --timeout to see whether it is slow or stuck."
DUMP = "Run again with --dump and --timeout to see which kernel is on the device, and at which line."
CAUSE = Cause(
    id=ID,
    title="The program waited for work that did not finish",
    refutes_if="The call in flight returns on its own with more time.",
    fix=(
        "Check that every loop of the kernel ends for these arguments, and that all threads that a barrier waits for reach it.",
        MORE_TIME,
    ),
    fix_of=(("cuda", DUMP),),
    predicts=(("recorded", "a wait is in flight at the timeout"),),
    settled_by="a run with ten times the time",
)
SHOWN = 8
STOPPING = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGKILL")
NEVER_COMPLETED = "The work waits for an event that only the program can complete, and it never does."
PATIENCE_S = 0.5  # who stops a program earlier has not seen it hang


def detect(facts: Facts, run: Run) -> Iterator[Finding]:
    """At most one finding for a process."""
    calls = [int(p) for p in facts.in_flight]
    if not is_stopped(facts, run, calls) or (facts.trace.ended and not calls):
        return
    fronts = [] if open_callbacks(facts) else stuck_fronts(facts)  # an event is done before its callbacks, a crumb may come after them
    if fronts and not _waits_for_the_program(facts, calls):
        yield _standing(facts, run, calls, fronts)
    else:
        yield _stuck(facts, run, calls) if calls else _elsewhere(facts, run)


def is_stopped(facts: Facts, run: Run, calls: list[int]) -> bool:
    """Did somebody stop it: a timeout, or a person who had seen it wait for some time?"""
    if run.outcome.kind == "timeout":
        return True
    waits = [p for p in calls if is_wait(facts, p)]
    return run.outcome.signal in STOPPING and any(waited(facts, run, p) >= PATIENCE_S for p in waits)


def _waits_for_the_program(facts: Facts, calls: list[int]) -> bool:
    """Does the work wait for an event that the program never completed? Then no launch is at fault."""
    forgotten = forgotten_events(facts)
    return any(held_by_program(facts, p, forgotten) for p in calls if is_wait(facts, p))


def _standing(facts: Facts, run: Run, calls: list[int], fronts: list[Front]) -> Finding:
    """Breadcrumbs say where the streams stand."""
    roots = waiting_for_none(facts, fronts)
    only = _only_launch(facts, roots)
    main = next((p for p in calls if is_wait(facts, p)), calls[0] if calls else None)
    ended = [front for front in fronts if front not in roots]
    evidence = [e for front in (*roots, *ended)[:SHOWN] for e in described(facts, front)]
    may = list(suspicions(facts, only)) if only is not None else []
    return Finding(
        id=ID,
        severity="error",
        evidence=(*(Evidence(one.text) for one in may), *evidence, *_open(facts, run, calls)),
        steps=tuple(one.step for one in may),
        site=site_of(facts, only if only is not None else main if main is not None else roots[0].running[0]),
        causes=(ID,),
        message=f"{_what_stands(facts, roots, only)} did not end{_who_waits(facts, run, main)}.",
        others=sites_of(facts, [p for front in roots for p in front.running if p != only][:SHOWN]),
        facts=(("call", "" if main is None else facts.trace.info(main).name), ("kernels", _names(facts, roots))),
        scope="symptom",
        symptom=Symptom("hang", named=only is not None),
    )


def _only_launch(facts: Facts, roots: list[Front]) -> int | None:
    """The launch that did not end, where only one can be meant. Copies and fills end by themselves, so a launch beside them is it.

    Of several streams it is the oldest launch: what ends has ended by now, and what was launched later may stand behind it in a hardware
    queue that streams share (CUDA_DEVICE_MAX_CONNECTIONS, 8 unless it is set).
    """
    oldest = min(roots, key=lambda front: front.running[0])
    if held_by(facts, oldest) is not None or any(not front.certain for front in roots[1:]):
        return None
    launches = [p for p in oldest.running if facts.launches.at_position(p) is not None]
    named = launches if len(launches) == 1 else oldest.running
    return named[0] if len(named) == 1 and not _has_wait_list(facts, named[0]) else None


def _has_wait_list(facts: Facts, position: int) -> bool:
    """Was it given events to wait for? Then it may not have begun."""
    return len(facts.trace.array(position, "waits")) > 0


def _what_stands(facts: Facts, roots: list[Front], only: int | None) -> str:
    if only is not None:
        return capital(work_name(facts, only))
    names = [work_name(facts, p) for front in roots for p in front.running]
    if len(names) == 1:
        return f"{capital(names[0])}, or what it waits for,"
    return f"One of {len(names)} calls ({several(names)})"


def _who_waits(facts: Facts, run: Run, main: int | None) -> str:
    if main is None:
        return ""
    return f": {placed(site_of(facts, main))} waited for up to {waited(facts, run, main):.1f} s"


def _names(facts: Facts, fronts: list[Front]) -> str:
    rows = [facts.launches.at_position(p) for front in fronts for p in front.running]
    return ",".join(sorted({facts.launches.name(r) for r in rows if r is not None}))


def _open(facts: Facts, run: Run, calls: list[int]) -> list[Evidence]:
    return [
        Evidence(f"thread {s.tid} was in {s.call} for up to {waited(facts, run, s.number - 1):.1f} s", (s.number,))
        for s in sites_of(facts, calls[:SHOWN])
    ]


def _stuck(facts: Facts, run: Run, calls: list[int]) -> Finding:
    main = next((p for p in calls if is_wait(facts, p)), calls[0])
    site = site_of(facts, main)
    reasons = list(_reasons(facts, main))
    evidence = _open(facts, run, calls)
    behind = f": {reasons[0].text}" if reasons else ""
    return Finding(
        id=ID,
        severity="error",
        evidence=(*evidence, *reasons),
        site=site,
        causes=(ID,),
        message=f"The program hung in {placed(site)}{behind}.",
        others=sites_of(facts, [p for p in calls if p != main][:SHOWN]),
        facts=(("call", site.call), ("kernels", _kernels(facts, main))),
        scope="symptom",
        because=NEVER_COMPLETED if _waits_for_the_program(facts, calls) else "",
        symptom=Symptom("hang", named=_waits_for_the_program(facts, calls)),
    )


def waited(facts: Facts, run: Run, position: int) -> float:
    """Seconds from the call to the end of the run, which began before the first recorded call: an upper bound."""
    began = float(facts.trace.seconds(facts.trace.column("begin", np.array([position])))[0])
    return max(run.outcome.duration_s - began, 0.0)


# ---- what a wait waits for ----


def _reasons(facts: Facts, position: int) -> Iterator[Evidence]:
    if not is_wait(facts, position):
        return
    ended = {maker_of(facts, one.event, one.position) for one in open_callbacks(facts) if one.complete}
    commands = [p for p in _behind(facts, position) if p not in ended]
    for maker in sorted(held_by_program(facts, position, forgotten_events(facts)))[:SHOWN]:
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
        message=f"The program had not ended after {duration(run.outcome.duration_s)}, and no GPU call was open: it was busy or waiting in "
        "its own code.",
        evidence=tuple(evidence) or (Evidence("no call had been recorded"),),
    )


def _last_calls(facts: Facts) -> list[int]:
    """The last call of each thread, latest first."""
    positions = np.flatnonzero(~facts.trace.is_note)
    _, last = np.unique(facts.trace.column("tid", positions)[::-1], return_index=True)
    return sorted((int(positions[len(positions) - 1 - i]) for i in last), reverse=True)[:SHOWN]
