"""A graph was launched whose nodes hold the address of memory that was freed, and that another allocation has now.

A graph keeps the addresses it was captured with. When the memory is freed and its addresses are reused, the graph's launch
succeeds, and no tool that checks addresses sees anything wrong: its nodes read and write memory that belongs to someone else.

Example:

    cudaGraphInstantiate(&exec, graph, 0);   // the kernel node was captured with `activations`
    cudaFree(activations);
    cudaMalloc(&weights, bytes);             // gets the same address
    cudaGraphLaunch(exec, stream);           // writes activations into the weights

Fix it by keeping the memory for as long as the graph is launched, or by updating the nodes when it moves.

The allocation that an address belonged to when the graph was made or last updated is compared with the one at the launch.
Memory that is free at the launch is graph-holds-dead-pointer. Not checked: memory that graphs allocate themselves, addresses
inside structures, and pools inside a program (PyTorch's), which keep their memory. Memory that was registered, mapped or shared
again at the same address may be meant to replace the old: it is not reported.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from gpudx.detectors import Run
from gpudx.detectors._groups import MOST
from gpudx.detectors._words import sites_of
from gpudx.facts import Facts
from gpudx.facts.allocated import allocation_of
from gpudx.facts.graphs import Node
from gpudx.model import Cause, Evidence, Finding
from gpudx.model.cause_kinds import LIFETIME
from gpudx.text import capital

ID = "graph-replay-stale"
CAUSE = Cause(
    id=ID,
    title="A graph works on memory that belongs to another allocation by now",
    refutes_if="The nodes were updated, or the memory was kept until after the last launch of the graph.",
    fix=("Keep the memory for as long as the graph is launched, or update the nodes when it moves.",),
    predicts=(("recorded", "a node's address belongs to another allocation at the launch than when the graph was made"),),
    kind=LIFETIME,
)
OWN = ("device", "pitched", "managed", "host", "async")  # families whose every allocation is new memory
I64 = NDArray[np.int64]


def detect(facts: Facts, run: Run) -> Iterator[Finding]:
    """One finding per graph version and allocation that is gone, at most MOST."""
    told: set[tuple[int, int]] = set()
    for version, launches in facts.graphs.by_version():
        for node, place, address in facts.graphs.addresses(version):
            stale = _replaced(facts, address, node.position, facts.graphs.position[launches])
            if stale is None or (version.position, stale[0]) in told or facts.graphs.allocates(address):
                continue
            told.add((version.position, stale[0]))
            if len(told) <= MOST:
                yield _finding(facts, node, place, address, *stale)


def _replaced(facts: Facts, address: int, made: int, positions: I64) -> tuple[int, int, I64] | None:
    """The allocation that the node was given, the one that has its address now, and the launches at which it had."""
    given = facts.memory.one(address, made)
    if given < 0 or facts.objects.state(given, made) != "live" or facts.objects.family(given) not in OWN:
        return None
    rows = facts.memory.at(np.full(len(positions), address, np.uint64), positions)
    other = (rows != given) & facts.memory.live(rows, positions)
    other &= positions > int(facts.objects.table["gone"][given])
    return (given, int(rows[other][0]), positions[other]) if other.any() else None


def _finding(facts: Facts, node: Node, place: str, address: int, row: int, now: int, positions: I64) -> Finding:
    position, died = int(positions[0]), int(facts.objects.table["gone"][row])
    born = int(facts.objects.table["born"][now])
    label, other, name = facts.objects.label(row), facts.objects.label(now), facts.graphs.name(node)
    site, others = facts.sites.at(position, value=address), sites_of(facts, [died, born])
    return Finding(
        id=ID,
        severity="error",
        message=(
            f"{capital(label)} had been freed (call {died + 1}) and its address given to {other} (call {born + 1}) when a "
            f"graph was launched whose node, {name}, was made with it as {place}, so the node now works on {other}."
        ),
        evidence=(
            Evidence(
                f"the node was passed {address:#x}, in {facts.memory.describe(row)}, as {place}", (node.position + 1,)
            ),
            Evidence(f"{others[0].call} freed it", (died + 1,)),
            Evidence(f"{others[1].call} gave the address to {facts.memory.describe(now)}", (born + 1,)),
            Evidence(f"{site.call} started the node afterwards, and nothing had updated it", (site.number,)),
        ),
        site=site,
        others=others,
        count=len(positions),
        allocation=allocation_of(facts, row, "freed"),
        causes=(ID,),
        facts=(("node", name), ("place", place)),
    )
