"""The runtime shut a stream's queue down because its work failed, printed a status, and ended the process.

AMD's runtime prints the status of the HSA runtime ("HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION"), but neither kernel nor address.
The trace has the launches that neither a wait nor a breadcrumb had shown to be complete; one of these failed.

Example:

    scale<<<grid, block>>>(x, n);                         // index * stride overflows: the address cannot exist
    hipStreamSynchronize(stream);
    // Callback: Queue 0x7f... Aborting with error : HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION: ... code: 0x29

Fix it in the named kernel. If several may have been running, run again with --serialise, which waits after each launch. A launch is
named if it is the only one that may have been running, or the only one whose arguments do not fit. If both hold, it is certain.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gpudx.detectors import Run
from gpudx.detectors._device_errors import Suspect, suspect
from gpudx.detectors._undersized import shortages
from gpudx.detectors._undersized_words import brief
from gpudx.detectors._words import had_completed
from gpudx.facts import Facts
from gpudx.facts.allocated import allocation_of
from gpudx.facts.messages import QueueAbort
from gpudx.facts.running import completed, graphs_at_fault, running_at_fault, whole
from gpudx.model import Evidence, Finding, Site
from gpudx.text import plural

ID = "device-queue-aborted"
SHOWN = 8
# A status names a kind of failure and no access, so it confirms no cause by itself.
ONLY = "No other launch could have failed; the status names the kind of failure, not the access."
ONLY_ODD = "Of the launches that may have failed, only its arguments do not fit; the status does not name the launch."
SHOWN_BY_SIZE = (
    "No other launch could have failed. Which of its arguments is inferred from sizes: the device did not say which access failed."
)
NOT_KNOWN = "One of the running launches failed; the status does not name it."


def detect(facts: Facts, run: Run) -> Iterator[Finding]:
    """At most one finding: the first queue that was shut down."""
    if facts.messages.aborts:
        yield _finding(facts, *facts.messages.aborts[0])


def _finding(facts: Facts, position: int, abort: QueueAbort) -> Finding:
    rows = running_at_fault(facts, position)
    ended = facts.launches.done & ~np.isin(np.arange(len(facts.launches.position)), rows)
    short = shortages(facts, rows, ended) if abort.cause == "out-of-bounds-access" else {}
    suspects = [suspect(facts, row, short.get(row, ())) for row in rows.tolist()]
    odd = [one for one in suspects if one.weight]
    graphs = len(graphs_at_fault(facts, position))
    alone = len(suspects) == 1 and not graphs and whole(facts)
    guilty = suspects[0] if alone else odd[0] if len(odd) == 1 and not graphs else None
    size = _size(facts, guilty)
    site = _site(facts, guilty) if guilty else None
    others = tuple(_site(facts, one) for one in suspects[::-1][:SHOWN] if one is not guilty)
    return Finding(
        id=ID,
        severity="error",
        message=_message(abort, site, size, len(suspects) + graphs),
        evidence=tuple(_evidence(facts, abort, suspects, alone)),
        site=site,
        others=others,
        causes=(abort.cause,),
        facts=(("status", abort.status), ("kernel", site.kernel or "?" if site else "?")),
        certainty="observed",
        allocation=allocation_of(facts, guilty.object) if guilty and size else None,
        attribution="this" if alone and size else "probable" if site else "unknown",
        because=SHOWN_BY_SIZE if alone and size else _because(site, alone),
    )


def _site(facts: Facts, one: Suspect) -> Site:
    return facts.sites.at(int(facts.launches.position[one.launch]), argument=one.argument)


def _size(facts: Facts, guilty: Suspect | None) -> str:
    """That one argument alone is too small for the launch's own numbers, where it is."""
    short = guilty.short if guilty and guilty.only_short else ()
    return f"; {brief(facts, short[0])}" if len(short) == 1 else ""


def _because(site: Site | None, alone: bool) -> str:
    if site is None:
        return NOT_KNOWN
    return ONLY if alone else ONLY_ODD


def _message(abort: QueueAbort, site: Site | None, size: str, running: int) -> str:
    what = f"A kernel {abort.does} ({abort.status})"
    if site is None:
        return f"{what}; {plural(running, 'launch', 'launches')} may have been running."
    which = "the only one that may have been running" if running == 1 else "the only one whose arguments do not fit"
    return f"{what}: launch {site.launch} of kernel {site.kernel}, {which}{size}."


def _evidence(facts: Facts, abort: QueueAbort, suspects: list[Suspect], alone: bool) -> Iterator[Evidence]:
    yield Evidence(f"the runtime printed: {abort.said}")
    done = completed(facts)
    if done is not None:
        yield Evidence(had_completed(done, len(facts.launches)))
    was = "was running" if done is not None and alone else "may have been running"
    for one in suspects[::-1][:SHOWN]:
        name = facts.launches.name(one.launch)
        odd = f": {'; '.join(one.odd)}" if one.odd else ""
        text = f"launch {one.launch + 1} of kernel {name} {was}{odd}"
        yield Evidence(text, (int(facts.launches.position[one.launch]) + 1,))
    if len(suspects) > SHOWN:
        yield Evidence(f"{plural(len(suspects), 'launch', 'launches')} may have been running in all")
