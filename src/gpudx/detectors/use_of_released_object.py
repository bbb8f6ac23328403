"""A call was passed an object that the program had released before.

Dropping the last reference ends an object. Its handle is the address of memory that the driver may have given back or handed
out again: the next call that uses it works on another object, fails with an odd status, or crashes. Often nothing happens for
years, because the memory still has its old content.

Example:

    clReleaseMemObject(buffer);
    clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, size, out, 0, NULL, NULL);

Fix it by releasing the object after its last use, or by keeping a reference for each owner.

An object that others still hold is not released: a kernel holds its program, a sub-buffer its buffer, everything its context.
Objects that are still set as arguments are reported as `released-while-bound`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from gpudx.detectors import Run
from gpudx.detectors._groups import groups
from gpudx.detectors._handles import Misused, misused
from gpudx.detectors._reused_handles import Earlier, earlier_object
from gpudx.detectors._words import place_of, sites_of
from gpudx.facts import Facts
from gpudx.facts.allocated import allocation_of
from gpudx.model import Cause, Evidence, Finding, Site
from gpudx.model.cause_kinds import LIFETIME
from gpudx.text import capital

ID = "use-of-released-object"
NEEDS_EVERY_CALL = True
CAUSE = Cause(
    id=ID,
    title="An object was used after the program released it",
    refutes_if="Another reference was held at the time of use (a retain, or a release that came later).",
    fix=("Release the object after its last use, or retain it for as long as the other user needs it.",),
    predicts=(("recorded", "the handle is used after its last release"),),
    kind=LIFETIME,
)


def detect(facts: Facts, run: Run) -> Iterator[Finding]:
    """One finding per call and parameter; repeats are counted."""
    for found in misused(facts):
        rows = np.flatnonzero(found.dead)
        kinds = facts.objects.table["kind"][found.row[rows]]
        for part in groups(rows, kinds):
            yield _finding(facts, found, part)


def _first(facts: Facts, found: Misused, part: np.typing.NDArray[np.int64]) -> int:
    """The use that never returned, else the first."""
    open_ = part[facts.trace.column("end", found.position[part]) == 0]
    return int(open_[0] if len(open_) else part[0])


def _finding(facts: Facts, found: Misused, part: np.typing.NDArray[np.int64]) -> Finding:
    objects, at = facts.objects, _first(facts, found, part)
    row, position = int(found.row[at]), int(found.position[at])
    label, died = objects.label(row), int(objects.table["died"][row])
    site = facts.sites.at(position, value=int(found.value[at]))
    others = sites_of(facts, [died])
    freed = bool(found.info.frees)
    again = "released it once more" if found.info.does == "release" else "freed it again" if freed else f"was passed it as {found.field}"
    gone = "freed" if facts.trace.info(died).frees else "released"
    used = f"{site.call} (call {site.number}{place_of(site)})"
    finding = Finding(
        id=ID,
        severity="error",
        message=f"{capital(label)} had been {gone} ({_release(others[0])}) when {used} {again}.",
        evidence=(
            Evidence(_ended(others[0], label, gone), (died + 1,)),
            Evidence(f"{site.call} used its {'address' if freed else 'handle'} {site.value} afterwards", (site.number,)),
        ),
        site=site,
        root=others[0] if others[0].source else None,
        others=others,
        count=len(part),
        allocation=allocation_of(facts, row, "released"),
        causes=(ID,),
        inevitable=True,
        facts=(
            ("call", site.call),
            ("parameter", found.field),
            ("kind", objects.kind(row)),
            ("kernel", site.kernel or ""),
        ),
    )
    earlier = earlier_object(facts, row, position) if found.info.does == "release" else None
    return _of_reused(facts, finding, row, earlier) if earlier else finding


def _ended(site: Site, label: str, gone: str) -> str:
    return f"{site.call} freed {label}" if gone == "freed" else f"{site.call} dropped the last reference to {label}"


def _release(site: Site) -> str:
    return f"{site.call}, call {site.number}{place_of(site)}"


def _of_reused(facts: Facts, finding: Finding, row: int, earlier: Earlier) -> Finding:
    """One release too many of an object whose handle was another object's: that one may be what was meant."""
    assert finding.site is not None
    label, old = facts.objects.label(row), facts.objects.label(earlier.row)
    first, made = (facts.sites.at(int(facts.objects.table["born"][one])) for one in (earlier.row, row))
    ended = facts.sites.at(earlier.ended)
    was = f"the handle {finding.site.value} was {old} (created by call {first.number}{place_of(first)}) until call {ended.number}"
    became = Evidence(f"{was}, and became {label} in call {made.number}{place_of(made)}", (ended.number, made.number))
    if earlier.mistaken is None:
        return replace(finding, evidence=(*finding.evidence, became))
    wrong = facts.sites.at(earlier.mistaken)
    used = ""
    if earlier.launch is not None:
        position, index = earlier.launch
        launch = facts.sites.at(position, argument=index)
        name = f" `{launch.argument_name}`" if launch.argument_name else ""
        used = f" kernel {launch.kernel} (launch {launch.launch}) was passed it as argument {index}{name}, and"
    return replace(
        finding,
        message=(
            f"{capital(old)} was released ({_release(ended)}) while another owner still used its handle. The driver gave the handle to "
            f"{label}:{used} {wrong.call} (call {wrong.number}{place_of(wrong)}) released {label} in place of {old}."
        ),
        evidence=(
            became,
            Evidence(f"calls {ended.number} and {wrong.number} come from the same code", (ended.number, wrong.number)),
            Evidence(f"{label} was released twice: by calls {finding.others[0].number} and {finding.site.number}", (finding.site.number,)),
        ),
        root=ended,
        others=(ended, *finding.others),
        steps=(f"Let each owner of {old} hold a reference: retain it where a second owner takes the handle, or release it only once.",),
    )
