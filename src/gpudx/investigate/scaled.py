"""The diagnosis of an offset in elements, once runs have shown that the failure goes with the offset multiplied."""

from __future__ import annotations

from gpudx.causes import every as every_cause
from gpudx.facts import Facts
from gpudx.facts.allocated import allocation_of
from gpudx.facts.copy_offsets import Offsets
from gpudx.investigate.observed import Observed
from gpudx.model import Diagnosis, Evidence, Guilty
from gpudx.text import plural

CAUSE = "offset-in-elements"
SIDES = {"b": "the buffer", "s": "the source", "d": "the destination"}


def diagnosis(facts: Facts, one: Observed, plain: Observed) -> Diagnosis | None:
    copy = next((found for found in Offsets(facts).found if found.wish == one.trials[-1].note), None)
    if copy is None:
        return None
    cause, site = every_cause()[CAUSE], facts.sites.at(copy.position)
    wanted = copy.offset * copy.element
    return Diagnosis(
        cause=CAUSE,
        status="confirmed",
        summary=(
            f"{site.call} (call {site.number}) begins at byte {copy.offset:,} of {SIDES[copy.side]}, and the program passes if it begins "
            f"at byte {wanted:,}: the offset is in elements of {copy.element} bytes, and the call takes bytes."
        ),
        guilty=Guilty.at(site, allocation_of(facts, copy.object)),
        victim=None,
        evidence=(
            Evidence(
                f"with the offset {wanted:,} = {copy.offset:,} x {copy.element}: {plural(one.rate.runs, 'run')}, no failure"
            ),
            Evidence(f"as it is: {plain.rate.failures} of {plural(plain.rate.runs, 'run')} failed"),
            Evidence(f"the call copies {plural(copy.size, 'byte')}", (site.number,)),
        ),
        refutes_if=cause.refutes_if,
        fix=(f"Pass {wanted:,}, the offset in bytes.",),
        reason="The failure is gone in every run in which this offset is multiplied, and comes back without that.",
        observed=True,
    )
