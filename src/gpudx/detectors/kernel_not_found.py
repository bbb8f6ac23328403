"""The program asked for a kernel by a name that its source does not have.

Example:

    program = clCreateProgramWithSource(context, 1, &source, NULL, &status);   // kernel void add(...)
    kernel = clCreateKernel(program, "addd", &status);                         // CL_INVALID_KERNEL_NAME

Fix it by asking for a name that the source has.

Reported where the source was recorded and could be read. Not reported if the program asks for another name and continues: it
has handled the failure. Names that compiled code does not have are reported as unusable-image.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from gpudx.detectors import Run
from gpudx.detectors._failures import Failure, Failures
from gpudx.detectors._words import site_of
from gpudx.facts import Facts
from gpudx.model import Cause, Evidence, Finding
from gpudx.model.cause_kinds import FIXED
from gpudx.text import several

ID = "kernel-not-found"
CAUSE = Cause(
    id=ID,
    title="The program asked for a kernel that its source does not have",
    refutes_if="The program's source has a kernel of exactly this name.",
    fix=("Ask for a name that the source has, or add the kernel to it.",),
    predicts=(("recorded", "the call that asks for the kernel fails in every run"),),
    kind=FIXED,
)
SHOWN = 6


def detect(facts: Facts, run: Run) -> Iterator[Finding]:
    """One finding per name that was asked for in vain, if the program ended or failed because of it."""
    if not run.failed or not len(facts.errors):
        return
    failures = Failures(facts)
    for failure in failures.roots:
        name = _asked_for(facts, failure)
        if name and (failure.followers or failures.stopped_at(failure)):
            yield from _finding(facts, failure, name)


def _asked_for(facts: Facts, failure: Failure) -> str:
    if failure.info.does != "create" or failure.info.object != "kernel" or "kernel_name" not in failure.info.arrays:
        return ""
    return facts.trace.array(failure.position, "kernel_name").decode(errors="replace").rstrip("\0")


def _finding(facts: Facts, failure: Failure, name: str) -> Iterator[Finding]:
    site = site_of(facts, failure.position)
    names = facts.kernels.names_in(failure.handles.get("program", 0), failure.position)
    if not names or name in names:
        return
    near = difflib.get_close_matches(name, names, 1)
    meant = f"; '{near[0]}' is the nearest name" if near else ""
    shown = [*names[:SHOWN], *([f"{len(names) - SHOWN} more"] if len(names) > SHOWN else [])]
    texts = (f"the kernels of its source: {several(shown)}",)
    yield Finding(
        id=ID,
        severity="error",
        message=f"{site.call}: the program's source has no kernel '{name}' ({site.status}){meant}.",
        evidence=tuple(Evidence(text, (site.number,)) for text in texts),
        site=site,
        count=failure.count,
        causes=(ID,),
        certainty="observed",
        because="The runtime found no kernel of this name, and the program did not continue without it.",
        facts=(("call", site.call), ("name", name)),
    )
