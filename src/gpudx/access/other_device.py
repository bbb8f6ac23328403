"""The address is in memory of another device or context than the one that the launch runs in."""

from __future__ import annotations

from gpudx.access.question import Question, Reason
from gpudx.model import Evidence


def explain(question: Question) -> Reason | None:
    facts, address = question.facts, question.address
    if address is None or not len(facts.objects):
        return None
    row = facts.memory.one(address, question.position)
    if row < 0:
        return None
    contexts = facts.trace.column("context")
    born = int(facts.objects.table["born"][row])
    here, there = int(contexts[question.position]), int(contexts[born]) if born >= 0 else -1
    if there < 0 or here == there:
        return None
    who = next((p for p in question.pointers if p.object == row), None)
    if who is None:
        return None
    site = question.made(row)
    line = f" at {site.source}" if site and site.source else ""
    text = f"{who.name} is {question.memory(row)}, allocated{line} in another context, whose memory this launch cannot reach"
    evidence = (Evidence(f"the launch was made in context {here}, the allocation in context {there}"),)
    return Reason("wrong-device-pointer", text, evidence, who.argument, row, root=site)
