"""A call reported that work before it had failed on the device.

Launches return before they run. A fault on the device is reported by whatever call comes next, and by every call after that: a
copy, a launch of another kernel, a library's start. That call is not at fault; if it is a copy whose memory is live and large
enough, the report shows this. The fault is in work that no successful wait had shown to be complete: the interval from the last
such wait to the report.

Example:

    broken<<<grid, block>>>(out);                                  // faults
    rope<<<grid, block>>>(q);
    cudaMemcpy(host, other, bytes, cudaMemcpyDeviceToHost);        // "an illegal memory access was encountered"

Breadcrumbs (gpudx run --crumbs) narrow the interval: launches that had completed when the device stopped, and launches that had not
begun, are left out. With one launch left, it is the guilty one.

Fix it by checking the launches of the interval, the most suspicious first. --crumbs=all, or a wait after each launch, narrows
the interval to one launch; a device dump names the launch at once.

What makes a launch suspicious: freed or null memory, a pointer to the end of memory, and, after an illegal address,
memory that is smaller than a product of the launch's numbers which other launches of the same kernel fit exactly (see
undersized-buffer). None of it proves that this launch faulted.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from gpudx import model
from gpudx.detectors import Run
from gpudx.detectors._device_errors import OUT_OF_BOUNDS, Interval, Suspect, interval
from gpudx.detectors._undersized import Short
from gpudx.detectors._undersized_words import brief, fits
from gpudx.detectors._words import argument, had_completed, site_of
from gpudx.facts import Facts
from gpudx.facts.allocated import allocation_of
from gpudx.facts.running import whole
from gpudx.model import Allocation, Cause, Evidence, Finding, Site, Symptom
from gpudx.text import plural, several

ID = "device-error-reported"
CAUSE = Cause(
    id=ID,
    title="Work on the device failed, and a later call reported it",
    refutes_if="The reporting call fails alone, without any work before it.",
    fix=("Look at the launches listed, the most suspicious first; `gpudx run --crumbs=all` marks every launch.",),
    predicts=(("recorded", "the launches of the interval ran, and a later call reports the fault"),),
)
SHOWN = 8
I64 = NDArray[np.int64]


def detect(facts: Facts, run: Run) -> Iterator[Finding]:
    """At most one finding: the first report; all later failures follow from it."""
    found = interval(facts)
    if found is not None:
        yield _finding(facts, found)


def _finding(facts: Facts, found: Interval) -> Finding:
    site = site_of(facts, found.report)
    said = facts.errors.device_error(found.report)
    count = found.count + len(found.graphs)
    followers = int((facts.errors.position > found.report).sum())
    single, graph = _single(facts, found), _graph(facts, found)
    short = _short(single)
    own = found.report in (*found.graphs, *(int(facts.launches.position[s.launch]) for s in found.suspects))
    whose = "nothing that was recorded ran before it" if not count else _whose(facts, found, count, own)
    return Finding(
        id=ID,
        severity="error",
        message=f"{site.call} reported {site.status}: {said}; {whose}.",
        evidence=(
            Evidence(
                f"{site.call} returned {site.status}, which reports a fault of {'this or ' if own else ''}earlier work",
                (site.number,),
            ),
            *_itself(facts, found.report),
            _since(facts, found) if found.completed is None else _progress(facts, found),
            *(_told(facts, s) for s in found.suspects[:SHOWN] if s.odd or count > 1),
            *_fitting(facts, found),
            *_graphs(found),
            *_fences(facts, found),
            *_followers(facts, found, followers),
        ),
        site=site,
        others=(
            *((facts.sites.at(graph),) if graph is not None else ()),
            *(_site(facts, s) for s in found.suspects[:SHOWN]),
        ),
        causes=(ID,),
        allocation=_allocation(facts, single, short),
        facts=(("call", site.call), ("status", site.status or "?"), ("kernel", _kernel(facts, single))),
        scope="symptom",
        symptom=Symptom(
            "device error",
            interval=model.Interval(
                launches=found.count if graph is None else count,
                ended_before=_ended_before(facts, found) + 1,
                single=single is not None or graph is not None,
                complete=_complete(facts, found),
                suspicious=len(found.odd),
                own_wait=_own_wait(facts, found.report),
                followers=followers,
                said=said or "",
                cause=facts.errors.device_cause(found.report),
                short=brief(facts, short) if short else "",
                completed=found.completed,
            ),
        ),
    )


def _allocation(facts: Facts, single: Suspect | None, short: Short | None) -> Allocation | None:
    """The memory that is odd about the one launch."""
    row = single.object if single else -1
    needed = int(facts.objects.table["size"][row]) + short.missing if short and row >= 0 else None
    return allocation_of(facts, row, needed=needed)


def _own_wait(facts: Facts, report: int) -> bool:
    """Was it the recorder that waited, right behind the launch (gpudx run --serialise)? Its calls have no caller."""
    waits = facts.trace.info(report).does == "wait"
    return waits and int(facts.trace.column("caller", np.array([report]))[0]) == 0


def _complete(facts: Facts, found: Interval) -> bool:
    """Is all work of the interval in the record? Calls that were overwritten do not matter where everything was waited for
    after them."""
    return whole(facts, _whole_since(facts, found) or (found.completed is not None and facts.crumbs.complete))


def _whole_since(facts: Facts, found: Interval) -> bool:
    since = found.since
    if len(facts.contexts) > 1 and facts.errors.crosses_contexts(found.report):
        return False  # a wait says nothing of work in other contexts
    if since < 0 or not facts.order.waited_for_all(since, facts.contexts.number(since)):
        return False
    return int(facts.trace.column("begin", np.array([since]))[0]) >= facts.trace.whole_since


def _whose(facts: Facts, found: Interval, count: int, own: bool) -> str:
    if found.completed is not None:
        return f"{_named(facts, found, count)} caused it"
    others = count - own
    before = "the launch before it" if others == 1 else f"one of {plural(others, 'launch', 'launches')} before it"
    if not own:
        return f"{before} caused it"
    return f"this launch or {before} caused it" if others else "this launch caused it"


def _named(facts: Facts, found: Interval, count: int) -> str:
    """The work that was running, where crumbs tell."""
    if count > 1:
        return f"one of {plural(count, 'launch', 'launches')} that had not completed"
    if found.graphs:
        return f"the graph launched by call {found.graphs[0] + 1}"
    launch = found.suspects[0].launch
    return f"launch {launch + 1} of kernel {facts.launches.name(launch)}"


def _progress(facts: Facts, found: Interval) -> Evidence:
    """What the crumbs say, in numbers."""
    first = min((s.launch for s in found.suspects), default=None)
    numbers = () if first is None else (int(facts.launches.position[first]) + 1,)
    skipped = any(front.skipped for front in facts.crumbs.fronts) and found.count > 1
    why = (
        "; launches between two breadcrumbs cannot be distinguished (--crumbs=all marks every launch)"
        if skipped
        else ""
    )
    return Evidence(f"{had_completed(found.completed or 0, len(facts.launches))}{why}", numbers)


def _single(facts: Facts, found: Interval) -> Suspect | None:
    """The launch that did it, where only one can have or only one is suspicious."""
    if found.graphs:
        return None
    ranked = found.count == len(found.suspects)
    if found.count == 1 or (ranked and (len(found.odd) == 1 or _of_one_memory(facts, found.odd))):
        return found.suspects[0]
    return None  # several streams stood still at once: on an H200 the oldest of their launches was the wrong one in 9 of 20 faults


def _graph(facts: Facts, found: Interval) -> int | None:
    """The launch of a graph that did it, by breadcrumbs: the same for graphs, whose kernels cannot be distinguished."""
    if found.completed is None or len(found.graphs) != 1 or found.count or found.odd:
        return None
    first = found.graphs[0]
    mine = [front for front in facts.crumbs.fronts if first in front.running]
    older = any(int(facts.launches.position[s.launch]) < first for s in found.suspects)
    return first if not older and len(mine) == 1 and len(mine[0].running) == 1 else None


def _of_one_memory(facts: Facts, odd: tuple[Suspect, ...]) -> bool:
    """Is the same memory too small for all of them, and do they wait for each other? Then the first comes to it first."""
    memory = {s.object for s in odd}
    queues = {int(facts.launches.queue[s.launch]) for s in odd}
    return all(s.only_short for s in odd) and len(memory) == 1 and -1 not in memory and len(queues) == 1


def _short(single: Suspect | None) -> Short | None:
    """The one argument that does not fit by its size."""
    return single.short[0] if single and len(single.short) == 1 and single.only_short else None


def _site(facts: Facts, one: Suspect) -> Site:
    value = _value(facts, one) if one.short and one.only_short else None
    return facts.sites.at(int(facts.launches.position[one.launch]), argument=one.argument, value=value)


def _value(facts: Facts, one: Suspect) -> int | None:
    given = (v["bytes"] for v in facts.launches.values(one.launch) if v["index"] == one.argument)
    return next((int.from_bytes(data, "little") for data in given), None)


def _fitting(facts: Facts, found: Interval) -> list[Evidence]:
    """How the memory of the only launch fits its numbers, argument by argument."""
    if found.count != 1 or found.graphs or facts.errors.device_cause(found.report) != OUT_OF_BOUNDS:
        return []
    launch = found.suspects[0].launch
    return [Evidence(text, (int(facts.launches.position[launch]) + 1,)) for text in fits(facts, launch)]


def _kernel(facts: Facts, single: Suspect | None) -> str:
    return facts.launches.name(single.launch) if single else ""


def _ended_before(facts: Facts, found: Interval) -> int:
    """The position before which all work of the queues concerned had ended."""
    rows = np.array([s.launch for s in found.suspects], np.int64)
    if not len(rows):
        return -1
    pairs = facts.order.pairs(facts.launches.position[rows], facts.launches.queue[rows])
    return min(facts.order.covered(q, c, found.report) for q, c in pairs)


def _since(facts: Facts, found: Interval) -> Evidence:
    if found.since < 0:
        return Evidence("no wait before it had shown that any work was complete")
    name = facts.trace.info(found.since).name
    return Evidence(f"the last wait that succeeded is {name}", (found.since + 1,))


def _itself(facts: Facts, report: int) -> list[Evidence]:
    """That a copy or fill which reports is in order: all the device memory it was given is live and large enough."""
    ranges, rows = facts.ranges, facts.ranges.at(report)
    rows = rows[~ranges.table["host"][rows]]
    good = ranges.live[rows] & ~ranges.past[rows]
    if not len(rows) or not good.all():
        return []
    labels = several(list(dict.fromkeys(facts.objects.label(int(ranges.object[r])) for r in rows)))
    return [Evidence(f"the call itself is valid: what it was passed is inside {labels}", (report + 1,))]


def _told(facts: Facts, one: Suspect) -> Evidence:
    position = int(facts.launches.position[one.launch])
    what = f": {'; '.join(one.odd)}" if one.odd else ""
    return Evidence(f"launch {one.launch + 1} of kernel {facts.launches.name(one.launch)}{what}", (position + 1,))


def _fences(facts: Facts, found: Interval) -> list[Evidence]:
    """In a fenced run, which memory of the only launch that can have faulted is fenced: that is what it can have missed."""
    if not facts.fences.live or found.count != 1 or found.graphs:
        return []
    launch = found.suspects[0].launch
    pointers, number = facts.launches.pointers, int(facts.launches.position[launch]) + 1
    rows = [r for r in pointers.of(launch) if pointers.object[r] >= 0 and not pointers.inside[r]]
    kernel = int(facts.launches.kernel_row[launch])
    return [
        Evidence(f"{argument(facts, kernel, int(pointers.index[r]))} points into {_fence_of(facts, r)}", (number,))
        for r in rows
    ]


def _fence_of(facts: Facts, pointer: int) -> str:
    pointers = facts.launches.pointers
    row = int(pointers.object[pointer])
    if not facts.fences.has(row):
        return f"{facts.memory.describe(row)}, which is not fenced"
    if not pointers.live[pointer]:
        return f"freed {facts.memory.describe(row)}, whose addresses fault since"
    return f"{facts.memory.describe(row)}, which is fenced: beyond its mapping every access faults"


def _graphs(found: Interval) -> list[Evidence]:
    if not found.graphs:
        return []
    return [Evidence(f"{plural(len(found.graphs), 'graph launch', 'graph launches')} too", (found.graphs[0] + 1,))]


def _followers(facts: Facts, found: Interval, count: int) -> list[Evidence]:
    if not count:
        return []
    later = facts.errors.position[facts.errors.position > found.report]
    names = list(dict.fromkeys(facts.trace.info(int(p)).name for p in later))
    told = Evidence(f"{plural(count, 'later call')} failed because of it: {several(names)}", (int(later[0]) + 1,))
    return [told, *_moved(facts, later)]


def _moved(facts: Facts, later: I64) -> list[Evidence]:
    """That asking for the last error is what programs print, and says nothing of the call before it."""
    asked = [int(p) for p in later if facts.trace.info(int(p)).does == "last_error"][:1]
    said = "reported the same error again, after other work: the error did not move, its report did"
    return [Evidence(f"{facts.trace.info(p).name} {said}", (p + 1,)) for p in asked]
