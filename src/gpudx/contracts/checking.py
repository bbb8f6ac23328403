"""Contracts held against every launch that was recorded.

A launch whose values are not all known is counted as not checked: it is neither held nor broken, and it is said.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpudx.contracts.contracts import Contract
from gpudx.contracts.evaluate import Answer, answer
from gpudx.contracts.language import closest
from gpudx.contracts.launches import Argument, Launches, launches_like
from gpudx.contracts.telling import arguments, numbered, sides
from gpudx.facts import Facts
from gpudx.facts.allocated import allocation_of
from gpudx.model import Evidence, Finding, Instrument
from gpudx.text import plural

Bool = NDArray[np.bool_]
BROKEN = "contract-violated"
NOT_CHECKED = "contract-not-checked"
INSTRUMENT = "contracts"


@dataclass(frozen=True)
class Held:
    """One contract against the launches of one kernel. `each` has an answer for each requirement."""

    contract: Contract
    table: Launches
    applies: Answer
    each: tuple[Answer, ...]

    @property
    def broken(self) -> Bool:
        return self.applies.true & np.logical_or.reduce([one.false for one in self.each])

    @property
    def unchecked(self) -> Bool:
        """Where something is not known that could break it."""
        unsure = np.logical_or.reduce([one.unknown for one in self.each])
        kept = np.logical_and.reduce([one.true for one in self.each])
        return ((self.applies.true & unsure) | (self.applies.unknown & ~kept)) & ~self.broken

    def reasons(self) -> dict[str, int]:
        """Why launches were not checked, and how many for each reason."""
        found: dict[str, int] = {}
        for one in (self.applies, *self.each):
            for reason, count in one.reasons(self.unchecked).items():
                found[reason] = max(found.get(reason, 0), count)
        return found


@dataclass(frozen=True)
class Checked:
    """What came of all contracts."""

    findings: tuple[Finding, ...]
    instrument: Instrument

    @property
    def broken(self) -> bool:
        return any(finding.id == BROKEN for finding in self.findings)

    @property
    def complete(self) -> bool:
        """Was everything checked that the contracts speak of?"""
        return not any(finding.id == NOT_CHECKED for finding in self.findings)


def check(contracts: Sequence[Contract], processes: Sequence[Facts]) -> Checked:
    """Every contract against every launch of all processes."""
    held = [one for contract in contracts for facts in processes for one in _held(contract, facts)]
    met = {id(one.contract) for one in held}
    absent = [contract for contract in contracts if id(contract) not in met]
    findings = [_violation(one) for one in held if one.broken.any()]
    findings += [_unchecked(one) for one in held if one.unchecked.any()]
    findings += [_absent(contract, processes) for contract in absent]
    findings += [finding for facts in processes for finding in _unseen(facts)]
    return Checked(tuple(findings), _instrument(contracts, held, absent))


def _held(contract: Contract, facts: Facts) -> Iterator[Held]:
    for table in launches_like(facts, contract.kernel, contract.names):
        every = np.ones(len(table), bool)
        applies = answer(contract.where, table) if contract.where else Answer(every, ~every, ())
        yield Held(contract, table, applies, tuple(answer(one, table) for one in contract.require))


# ---- findings ----


def _violation(held: Held) -> Finding:
    """One finding for all launches of a kernel that break a contract; the first of them is its site."""
    contract, table = held.contract, held.table
    place = int(np.flatnonzero(held.broken)[0])
    first = next(n for n, one in enumerate(held.each) if one.false[place])
    rule = contract.require[first]
    found = table.find(rule.memory[0]) if len(rule.memory) == 1 else None
    memory = int(table.given(rule.memory[0], found).object[place]) if isinstance(found, Argument) else -1
    position = int(table.facts.launches.position[table.rows[place]])
    site = table.facts.sites.at(position, argument=found.index if isinstance(found, Argument) else None)
    why = f": {contract.why.rstrip('.')}" if contract.why else ""
    return Finding(
        id=BROKEN,
        severity="error",
        message=f'Launch {site.launch} of kernel {table.kernel} breaks its contract "{rule.text}"{sides(rule, table, place)}{why}.',
        evidence=(
            Evidence(f"launch {site.launch} was passed {arguments(table, place)}", (site.number,)),
            *(_broken(held, n) for n, one in enumerate(held.each) if (one.false & held.applies.true).any()),
            Evidence(f"the contract is in {contract.place}"),
        ),
        site=site,
        allocation=allocation_of(table.facts, memory),
        causes=(BROKEN,),
        facts=_same(held),
        scope="stated",
        count=int(held.broken.sum()),
    )


def _broken(held: Held, number: int) -> Evidence:
    rule, places = held.contract.require[number], np.flatnonzero(held.each[number].false & held.applies.true)
    place, every = int(places[0]), plural(len(held.table), "launch", "launches")
    values = sides(rule, held.table, place)
    return Evidence(f'"{rule.text}" is false at {len(places):,} of {every}: {numbered(held.table, places)}{values}')


def _same(held: Held) -> tuple[tuple[str, str], ...]:
    """What does not change between runs."""
    rules = "; ".join(rule.text for rule in held.contract.require)
    return (("kernel", held.table.kernel), ("contract", held.contract.kernel), ("require", rules))


def _unchecked(held: Held) -> Finding:
    count, every = int(held.unchecked.sum()), plural(len(held.table), "launch", "launches")
    reasons = held.reasons()
    first = next(iter(reasons), "a value is not known")
    return Finding(
        id=NOT_CHECKED,
        severity="warning",
        message=f"{count:,} of {every} of kernel {held.table.kernel} could not be checked ({held.contract.place}): {first}.",
        evidence=tuple(Evidence(f"{reason}: {plural(n, 'launch', 'launches')}") for reason, n in reasons.items())
        or (Evidence(f"the contract is in {held.contract.place}"),),
        facts=_same(held),
        count=count,
    )


def _absent(contract: Contract, processes: Sequence[Facts]) -> Finding:
    names = {facts.launches.name(int(row)) for facts in processes for row in _firsts(facts)}
    close = closest(contract.kernel, names)
    but = f", but of {close} there was" if close else ""
    return Finding(
        id=NOT_CHECKED,
        severity="info",
        message=(
            f"No launch of a kernel named {contract.kernel} was recorded{but}: its contract was not checked"
            f" ({contract.place})."
        ),
        evidence=(Evidence(f"{plural(len(names), 'kernel')} were launched: {', '.join(sorted(names)[:8]) or 'none'}"),),
        facts=(("contract", contract.kernel),),
    )


def _firsts(facts: Facts) -> NDArray[np.int64]:
    """The first launch of each kernel object."""
    return np.unique(facts.launches.kernel_row, return_index=True)[1]


def _unseen(facts: Facts) -> Iterator[Finding]:
    """Launches that no contract could be held against."""
    functions = facts.kernels.functions(facts.launches.kernel_row)
    nameless = int(((functions < 0) | (facts.launches.kernel_row < 0)).sum())
    if nameless:
        text = f"{plural(nameless, 'launch', 'launches')} of kernels without a known name could not be checked."
        yield _missed("names", text, f"process {facts.trace.pid} launched kernels whose creation was not recorded")
    for gap in facts.trace.gaps:
        yield _missed(gap.kind, "Launches that are missing from the record could not be checked.", gap.text)
    others = _in_graphs(facts)
    if others:
        text = "Kernels in graphs were checked as they were captured; nodes added in other ways were not."
        yield _missed("graphs", text, f"{plural(others, 'kernel')} were put into a graph, or changed there")


def _missed(kind: str, message: str, more: str) -> Finding:
    return Finding(NOT_CHECKED, "warning", message, (Evidence(more),), facts=(("missing", kind),))


def _in_graphs(facts: Facts) -> int:
    """Kernels in graphs that no captured launch accounts for."""
    versions = [version for each in facts.graphs.versions.values() for version in each]
    nodes = sum(node.kind == "kernel" for version in versions for node in version.nodes)
    return max(nodes - int(facts.launches.captured.sum()), 0)


# ---- the instrument ----


def _instrument(contracts: Sequence[Contract], held: Sequence[Held], absent: Sequence[Contract]) -> Instrument:
    """Live if at least one launch was checked: otherwise "nothing broken" means nothing."""
    looked = sum(int((~one.unchecked).sum()) for one in held)
    unchecked = sum(int(one.unchecked.sum()) for one in held)
    broken = {id(one.contract) for one in held if one.broken.any()}
    rules = sum(len(contract.require) for contract in contracts)
    words = [
        f"{plural(len(contracts), 'contract')} with {plural(rules, 'requirement')} checked against "
        f"{plural(looked, 'launch', 'launches')}; {len(broken):,} broken."
    ]
    if unchecked:
        words.append(f"{plural(unchecked, 'launch', 'launches')} could not be checked.")
    if absent:
        words.append(f"No launch was recorded for {plural(len(absent), 'contract')}.")
    return Instrument(INSTRUMENT, "live" if looked else "not live", " ".join(words))
