"""An assertion in a kernel failed.

The driver prints the condition, the line and the thread on the program's stderr when the program next waits; every call after
that fails. The recorder keeps what the driver printed, so the condition is known, and also the kernel, if the assertion is in
the kernel itself and not in a function that it calls.

Example:

    __global__ void pick(const float *table, int rows, const int *index, float *out)
    {
        assert(index[threadIdx.x] < rows);                         // an index from a vocabulary of another size
        ...

Fix it where the values that the condition checks come from: the launch's arguments, or the data in its buffers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from gpudx.detectors import Run
from gpudx.detectors._device_errors import interval
from gpudx.detectors._words import site_of
from gpudx.facts import Assertion, Facts
from gpudx.model import Access, Cause, Evidence, Finding, Site
from gpudx.model.cause_kinds import FIXED
from gpudx.text import plural

ID = "device-assertion"
CAUSE = Cause(
    id=ID,
    title="An assertion in a kernel did not hold",
    refutes_if="The driver printed no assertion, or one of another kernel.",
    fix=(
        "Look at the named line: compare the condition with the arguments of the launch and the contents of its buffers.",
    ),
    predicts=(("recorded", "the driver prints the assertion and the next wait fails"),),
    settled_by="the values that the condition compares, printed before the launch",
    kind=FIXED,
    tells="condition",
)
IN_TORCH = "In PyTorch an index outside of a table is the usual reason: check indices against the table's size on the host."
ONLY = ", and only this launch could have hit it"
WHICH = "; it is not known which launch hit it first"


def detect(facts: Facts, run: Run) -> Iterator[Finding]:
    """At most one finding: the first assertion; all the others are of other threads, or follow from it."""
    told = facts.messages.assertions
    if not told:
        return
    first = told[0]
    launches = _launches(facts, first.function)
    site = site_of(facts, launches[0]) if launches else None
    others = tuple(site_of(facts, p) for p in launches[1:])
    yield Finding(
        id=ID,
        severity="error",
        message=_message(first, site, len(others)),
        evidence=(
            Evidence(f"the driver printed: Assertion `{first.condition}` failed at {first.source} in {first.function}"),
            Evidence(
                f"the first of {plural(len(told), 'line')} kept is of thread [{first.thread}] of block [{first.block}]"
            ),
            *_which(launches),
        ),
        site=_at(site, first.source) if site else None,
        others=others,
        causes=(ID,),
        steps=(*CAUSE.fix, IN_TORCH) if "libtorch" in facts.trace.maps else (),
        scope="symptom" if facts.tellings.of("index") else "fault",  # then the value that the condition is about is known
        facts=(("condition", first.condition), ("source", first.source.rpartition("/")[2])),
        certainty="observed",
        attribution="this" if len(launches) == 1 else "kernel",
        because=f"The driver printed the assertion itself{WHICH if len(launches) != 1 else ONLY}.",
        access=Access(
            block=_three(first.block),
            thread=_three(first.thread),
            source=first.source,
            by="kernel",
            seen_by="assertion",
        ),
    )


def _at(site: Site, source: str) -> Site:
    """The line of the assertion; in a Python program, the line that called the operator is the one that users can read."""
    return site if any(line.endswith("(python)") for line in site.host_stack) else replace(site, source=source)


def _three(text: str) -> tuple[int, int, int] | None:
    """ "31,0,0" as numbers."""
    parts = [part.strip() for part in text.split(",")]
    return (int(parts[0]), int(parts[1]), int(parts[2])) if len(parts) == 3 and all(map(str.isdecimal, parts)) else None


def _launches(facts: Facts, function: str) -> list[int]:
    """Positions of the launches that may have met it, the latest first: those of this kernel, or the only one there is."""
    found = interval(facts)
    rows = [s.launch for s in found.suspects] if found else []
    mine = [row for row in rows if facts.messages.same_function(function, facts.launches.name(row))]
    if found and not mine and found.count == 1 and not found.graphs:
        mine = rows
    return sorted((int(facts.launches.position[row]) for row in mine), reverse=True)


def _which(launches: list[int]) -> Iterator[Evidence]:
    if len(launches) == 1:
        yield Evidence("no other launch that may have been running could have hit it", (launches[0] + 1,))
    elif launches:
        text = f"{plural(len(launches), 'launch', 'launches')} of this kernel may have been running"
        yield Evidence(text, tuple(p + 1 for p in launches[:8]))
    else:
        yield Evidence("the assertion is in a function that kernels call: which kernel is unknown")


def _message(first: Assertion, site: Site | None, others: int) -> str:
    which = "" if site is None else f" of kernel {site.kernel}"
    launch = f" (launch {site.launch}, call {site.number})" if site and not others else ""
    return f"The assertion `{first.condition}`{which}{launch} failed on the device, at {first.source}."
