"""The address lies in memory that was freed before the launch, or whose free had been called when it ran."""

from __future__ import annotations

import numpy as np

from gpudx.access.question import Question, Reason
from gpudx.model import Evidence


def explain(question: Question) -> Reason | None:
    facts, address, position = question.facts, question.address, question.position
    if address is None:
        return None
    row = facts.memory.one(address, position)
    if row < 0 or bool(facts.memory.live(np.array([row]), np.array([position]))[0]):
        return None
    if any(p.begin <= address < p.end and p.object != row for p in question.pointers if p.object >= 0):
        return None  # another argument's memory is there now
    who = next((p for p in question.pointers if p.object == row), None)
    died = int(facts.objects.table["died"][row])
    site = facts.sites.at(died) if died >= 0 else None
    line = f" at {site.source}" if site and site.source else ""
    freed = f"{site.call} (call {site.number}){line} freed it" if site else "it had been freed"
    label = question.memory(row)
    through = f", {who.name}," if who else ""
    evidence = (Evidence(f"{label} was freed by {site.call}", (site.number,)),) if site else ()
    return Reason(
        "use-after-free",
        f"it used {label}{through} after {freed}",
        evidence,
        who.argument if who else None,
        row,
        root=site,
    )
