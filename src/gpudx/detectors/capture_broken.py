"""A call was made that cannot be made while work is being captured into a graph.

While a queue is being captured nothing runs, so there is nothing to wait for or to query: a wait, a query or an immediate
allocation is refused, and, worse, the whole capture is lost. In the default mode this applies to calls of every thread,
including those of libraries. Ending a capture in a different thread than the one that began it, leaving work in a second queue that
was not joined, or waiting for an event of uncaptured work loses it as well (CUDA driver API reference, cuStreamBeginCapture and
cuThreadExchangeStreamCaptureMode).

Example:

    cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    step<<<grid, block, 0, stream>>>(data);
    cudaStreamSynchronize(stream);                  // refused; the capture is lost
    cudaStreamEndCapture(stream, &graph);           // refused too: this is where the program sees it

Fix it by moving the call before or after the capture. If another thread made it, begin the capture in the thread-local mode, or
keep that thread off the device during the capture. It is an error if the capture was lost, else a warning: a library may try
the call and handle the refusal.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from gpudx.detectors import Run
from gpudx.detectors._words import sites_of
from gpudx.facts import Facts
from gpudx.model import Cause, Evidence, Finding
from gpudx.model.cause_kinds import FIXED
from gpudx.text import plural

ID = "capture-broken"
CAUSE = Cause(
    id=ID,
    title="A capture was lost because of a call that cannot be made during one",
    refutes_if="The capture also fails without this call.",
    fix=(
        "Move the call before or after the capture.",
        "Where another thread made it, begin the capture in the thread-local mode.",
    ),
    predicts=(("recorded", "the first refused call lies between the beginning of the capture and its end"),),
    kind=FIXED,
)
I64 = NDArray[np.int64]


def detect(facts: Facts, run: Run) -> Iterator[Finding]:
    """One finding per capture: the first call that did not go with it; those that failed after it are counted."""
    failed: dict[int, list[int]] = {}
    for position in map(int, facts.errors.of_captures):
        failed.setdefault(_capture(facts, position), []).append(position)
    for begin, positions in failed.items():
        if begin >= 0:
            yield _finding(facts, begin, positions)


def _capture(facts: Facts, position: int) -> int:
    """The call that began the capture which the call at `position` met, -1 if none was open.

    Of several that of the call's own queue, else that of its thread, else the latest."""
    begins = [b for b in _begun(facts) if b < position and _end(facts, b) >= position]
    words, tids = facts.trace.record(position), facts.trace.column("tid")
    queue = [b for b in begins if facts.trace.record(b)["queue"] == words.get("queue", -1)]
    thread = [b for b in begins if tids[b] == tids[position]]
    return next(iter((queue or thread or begins)[::-1]), -1)


def _begun(facts: Facts) -> list[int]:
    positions = facts.trace.select(facts.trace.schema.doing("begin_capture"))
    return positions[facts.trace.column("status", positions) == 0].tolist()


def _end(facts: Facts, begin: int) -> int:
    """The call that ended a capture, well or not; the end of the record if none did."""
    queue = facts.trace.record(begin)["queue"]
    for info in facts.trace.schema.doing("create", "graph"):
        positions = facts.trace.select(info)
        if info.word("queue") is not None:
            ends = positions[(positions > begin) & (facts.trace.field(info, "queue", positions) == queue)]
            return int(ends[0]) if len(ends) else len(facts.trace)
    return len(facts.trace)


def _finding(facts: Facts, begin: int, positions: list[int]) -> Finding:
    end = _end(facts, begin)
    lost = end in positions
    site, started, *last = sites_of(facts, [positions[0], begin, *([end] if lost else [])])
    why = facts.errors.capture_error(positions[0])
    other = f", in thread {site.tid}, which did not begin it" if site.tid != started.tid else ""
    return Finding(
        id=ID,
        severity="error" if lost else "warning",
        message=(
            f"{site.call} (call {site.number}{other}) was refused during the capture that call "
            f"{started.number} began, because {why}{'; the capture was lost' if lost else ''}."
        ),
        evidence=(
            Evidence(f"thread {started.tid} began a capture with {started.call}", (started.number,)),
            Evidence(f"thread {site.tid} called {site.call}, which returned {site.status}", (site.number,)),
            *(Evidence(f"{s.call} returned {s.status}", (s.number,)) for s in last if s.number != site.number),
            *_more([position for position in positions[1:] if position != end]),
        ),
        site=site,
        others=(started, *last),
        count=len(positions),
        causes=(ID,) if lost else (),
        facts=(("call", site.call), ("status", site.status or "?")),
    )


def _more(positions: list[int]) -> Iterator[Evidence]:
    if positions:
        shown = tuple(p + 1 for p in positions[:3])
        yield Evidence(f"{plural(len(positions), 'later call')} failed because of the same capture", shown)
