"""The address lies in memory that was freed before the launch, or past the end of such memory, through the pointer that the launch kept."""

from __future__ import annotations

import numpy as np

from gpudx.access.question import Pointer, Question, Reason
from gpudx.model import Evidence


def explain(question: Question) -> Reason | None:
    facts, address, position = question.facts, question.address, question.position
    if address is None:
        return None
    row = facts.memory.one(address, position)
    live = row >= 0 and bool(facts.memory.live(np.array([row]), np.array([position]))[0])
    if live or any(p.live and p.begin <= address < p.end and p.object != row for p in question.pointers if p.object >= 0):
        return None  # memory that is there, and in place of what was freed
    who = next((p for p in question.pointers if p.object == row), None) if row >= 0 else _stale(question)
    obj = row if row >= 0 else who.object if who else -1
    return _reason(question, obj, who) if obj >= 0 else None


def _stale(question: Question) -> Pointer | None:
    """The pointer to freed memory that the access went past."""
    nearest = question.nearest(question.usable)
    return nearest if nearest and not nearest.live else None


def _reason(question: Question, row: int, who: Pointer | None) -> Reason:
    facts, address = question.facts, question.address
    died = int(facts.objects.table["died"][row])
    site = facts.sites.at(died) if died >= 0 else None
    line = f" at {site.source}" if site and site.source else ""
    freed = f"{site.call} (call {site.number}){line} freed it" if site else "it had been freed"
    label = question.memory(row)
    through = f", {who.name}," if who else ""
    evidence = [Evidence(f"{label} was freed by {site.call}", (site.number,))] if site else []
    if who is not None and address is not None and address >= who.end:
        evidence.append(Evidence(f"the access was {address - who.end:,} bytes past its end"))
    return Reason(
        "use-after-free",
        f"it used {label}{through} after {freed}",
        tuple(evidence),
        who.argument if who else None,
        row,
        root=site,
    )
