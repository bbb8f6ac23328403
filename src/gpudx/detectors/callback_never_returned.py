"""The program hung while a callback of an event had not returned.

Drivers call the functions of clSetEventCallback in threads of their own, often in the thread that also completes the next commands. A
callback that waits, for a lock or for the device, blocks that thread. If the lock is held by a thread that waits for the device,
neither continues. Whether it happens is a matter of timing, so that most runs may end well.

Example:

    void CL_CALLBACK done(cl_event event, cl_int status, void *data) {
        lock(&mutex);                                    // held by wait_for_all
        stage++;
        unlock(&mutex);
    }
    void wait_for_all(void) {
        lock(&mutex);
        clFinish(queue);                                 // waits for the callback
        unlock(&mutex);
    }

Fix it by releasing the lock before the wait, or by letting the callback only store what another thread acts on.

(OpenCL 3.0 API specification, clSetEventCallback: a callback must return promptly, and calls in it that block, such as clFinish, are
undefined.)

Not reported: callbacks that began less than half a second before the program was stopped.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gpudx.detectors import Run
from gpudx.detectors._in_flight import maker_of
from gpudx.detectors._words import placed, site_of, sites_of
from gpudx.detectors.hang import PATIENCE_S, is_stopped, waited
from gpudx.facts import Facts
from gpudx.facts.callbacks import OpenCallback, open_callbacks
from gpudx.facts.stuck import is_wait, work_name
from gpudx.model import Cause, Evidence, Finding
from gpudx.model.cause_kinds import FIXED

ID = "callback-never-returned"
CAUSE = Cause(
    id=ID,
    title="A wait and a callback block each other",
    refutes_if="The callback returns, and the program ends, with a larger --timeout.",
    fix=(
        "Call nothing in the callback that waits for the device, and release every lock that it takes before the program waits.",
        "Let the callback only store a value or notify a thread, and do the rest in that thread.",
    ),
    predicts=(("recorded", "a callback of an event has not returned, and a wait for the device is in flight"),),
    kind=FIXED,
)
BECAUSE = (
    "The callback had not returned during the whole wait; it is not known what it waits for, or whether the driver "
    "could continue without it."
)
WAITED_INSIDE = "A callback may not wait for the device: the driver may need the callback's thread to complete the work."


def detect(facts: Facts, run: Run) -> Iterator[Finding]:
    """At most one finding for a process."""
    calls = [int(p) for p in facts.in_flight]
    if not is_stopped(facts, run, calls):
        return
    waits = [p for p in calls if is_wait(facts, p)]
    for callback in open_callbacks(facts):
        if waits and waited(facts, run, callback.position) >= PATIENCE_S:
            yield _finding(facts, run, callback, waits)
            return


def _finding(facts: Facts, run: Run, callback: OpenCallback, waits: list[int]) -> Finding:
    threads = facts.trace.column("tid", np.array(waits))
    inside = [p for p, tid in zip(waits, threads.tolist(), strict=True) if tid == callback.tid]
    wait = (inside or waits)[0]
    site = site_of(facts, wait)
    name = f"the callback {callback.name}" if callback.name else "a callback"
    if inside:
        message = f"The program hung because {name} waits for the device: it called {placed(site)}, which did not return."
    else:
        message = (
            f"The program hung: {placed(site)} waits for the device, and {name} has not returned for "
            f"{waited(facts, run, callback.position):.1f} s."
        )
    return Finding(
        id=ID,
        severity="error",
        message=message,
        evidence=tuple(_of_callback(facts, run, callback)),
        site=site,
        others=sites_of(facts, [callback.registered] if callback.registered is not None else []),
        causes=(ID,),
        facts=(("call", site.call), ("callback", callback.name)),
        because=WAITED_INSIDE if inside else BECAUSE,
        steps=() if inside else (f"Release the locks that {name} takes before {placed(site)}.",),
    )


def _of_callback(facts: Facts, run: Run, callback: OpenCallback) -> Iterator[Evidence]:
    for_s = waited(facts, run, callback.position)
    name = callback.name or "the callback"
    yield Evidence(f"thread {callback.tid} was in {name} for up to {for_s:.1f} s")
    if callback.registered is None:
        return
    registered = site_of(facts, callback.registered)
    maker = maker_of(facts, callback.event, callback.position)
    of = f" for {work_name(facts, maker).rpartition(' (')[0]}" if maker is not None else ""
    ended = ", which has ended" if maker is not None and callback.complete else ""
    yield Evidence(f"{placed(registered)} registered it{of}{ended}", (registered.number,))
