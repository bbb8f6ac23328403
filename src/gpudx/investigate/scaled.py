"""The diagnosis of an offset in elements, once runs have shown that the failure goes with the offset multiplied."""

from __future__ import annotations

from gpudx.causes import every as every_cause
from gpudx.facts import Facts
from gpudx.facts.allocated import allocation_of
from gpudx.facts.copy_offsets import Offset, Offsets
from gpudx.investigate.observed import Observed
from gpudx.model import Diagnosis, Evidence, Guilty, Site
from gpudx.text import plural

CAUSE = "offset-in-elements"
SIDES = {"b": "the buffer", "s": "the source", "d": "the destination"}


def diagnosis(facts: Facts, one: Observed, plain: Observed) -> Diagnosis | None:
    copy = next((found for found in Offsets(facts).found if found.wish == one.trials[-1].note), None)
    if copy is None:
        return None
    cause, site = every_cause()[CAUSE], facts.sites.at(copy.position)
    return Diagnosis(
        cause=CAUSE,
        status="confirmed",
        summary=_summary(copy, site),
        guilty=Guilty.at(site, allocation_of(facts, copy.object)),
        victim=None,
        evidence=(
            Evidence(f"with {_multiplied(copy)}: {one.failed}"),
            Evidence(f"as it is: {plain.failed}"),
            Evidence(f"the call copies {plural(copy.size, 'byte')}", (site.number,)),
        ),
        refutes_if=cause.refutes_if,
        fix=(f"Pass the offset in bytes: {copy.offset:,} x {copy.element} = {copy.offset * copy.element:,} for the first copy.",)
        if copy.alike > 1
        else (f"Pass {copy.offset * copy.element:,}, the offset in bytes.",),
        reason="The failure is gone in every run in which this offset is multiplied, and comes back without that.",
        observed=True,
    )


def _summary(copy: Offset, site: Site) -> str:
    others = f" and {plural(copy.alike - 1, 'other copy', 'other copies')} of this line" if copy.alike > 1 else ""
    begins = "begin at offsets" if others else f"begins at byte {copy.offset:,}"
    passes = "the offsets are multiplied" if others else f"it begins at byte {copy.offset * copy.element:,}"
    what = "the offsets are" if others else "the offset is"
    return (
        f"{site.call} (call {site.number}){others} {begins} of {SIDES[copy.side]}"
        f"{f' such as {copy.offset:,}' if others else ''}, and the program passes if {passes}"
        f"{f' by {copy.element}' if others else ''}: {what} in elements of {copy.element} bytes, and the call takes bytes."
    )


def _multiplied(copy: Offset) -> str:
    if copy.alike > 1:
        return f"the offsets of all {copy.alike} copies multiplied by {copy.element}"
    return f"the offset {copy.offset * copy.element:,} = {copy.offset:,} x {copy.element}"
