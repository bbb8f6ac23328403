"""A graph was launched whose nodes still hold the address of memory that was freed.

A graph keeps the addresses it was captured with. Freeing the memory does not change the graph, and its launch succeeds: the
nodes read and write freed memory, or memory that belongs to something else by then.

Example:

    cudaGraphInstantiate(&exec, graph, 0);
    cudaFree(buffer);                        // the kernel node was captured with it
    cudaGraphLaunch(exec, stream);

Fix it by keeping the memory for as long as the graph is launched, or by updating the nodes when it moves.

Memory that the graph allocates itself, and addresses inside structures, are not checked.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from gpudx.detectors import Run
from gpudx.detectors._words import sites_of
from gpudx.facts import Facts
from gpudx.facts.allocated import allocation_of
from gpudx.facts.graphs import Node
from gpudx.model import Cause, Evidence, Finding
from gpudx.model.cause_kinds import MEMORY
from gpudx.text import capital

ID = "graph-holds-dead-pointer"
CAUSE = Cause(
    id=ID,
    title="A graph was launched whose nodes hold freed memory",
    refutes_if="The nodes were updated, or the memory was freed after the last launch of the graph.",
    fix=("Keep the memory for as long as the graph is launched, or update the nodes when it moves.",),
    predicts=(("recorded", "a node's address is in memory that was freed before the graph's launch"),),
    kind=MEMORY,
)
MOST = 20
ARGUMENT = "argument "  # how Graphs.addresses names the arguments of kernels
I64 = NDArray[np.int64]


def detect(facts: Facts, run: Run) -> Iterator[Finding]:
    """One finding per graph version and dead allocation, at most MOST."""
    told = 0
    for version, launches in facts.graphs.by_version():
        seen: set[int] = set()
        for node, place, address in facts.graphs.addresses(version):
            dead = _dead(facts, address, launches)
            if dead is None or dead[0] in seen or told >= MOST or facts.graphs.allocates(address):
                continue
            seen.add(dead[0])
            told += 1
            yield _finding(facts, node, place, address, *dead)


def _dead(facts: Facts, address: int, launches: I64) -> tuple[int, I64] | None:
    """The freed allocation that an address pointed into, and the launches for which it did."""
    positions = facts.graphs.position[launches]
    rows = facts.memory.at(np.full(len(positions), address, np.uint64), positions)
    dead = (rows >= 0) & ~facts.memory.live(rows, positions)
    if not dead.any() or facts.memory.ends_at(address, int(positions[dead][0])) >= 0:
        return None
    return int(rows[dead][0]), positions[dead]


def _finding(facts: Facts, node: Node, place: str, address: int, row: int, positions: I64) -> Finding:
    position, died = int(positions[0]), int(facts.objects.table["gone"][row])
    label, name = facts.objects.label(row), facts.graphs.name(node)
    site, others = facts.sites.at(position, value=address), sites_of(facts, [died])
    return Finding(
        id=ID,
        severity="error",
        message=(
            f"{capital(label)} had been freed ({others[0].call}, call {died + 1}) when a graph was launched whose node, "
            f"{name}, still has it as {place}."
        ),
        evidence=(
            Evidence(f"{others[0].call} freed {facts.memory.describe(row)}", (died + 1,)),
            Evidence(f"the node was passed {address:#x} as {place}", (node.position + 1,)),
            Evidence(f"{site.call} started it afterwards", (site.number,)),
        ),
        site=replace(
            site,
            kernel=facts.kernels.name(node.kernel_row) if node.kind == "kernel" else None,
            argument=int(place.removeprefix(ARGUMENT)) if place.startswith(ARGUMENT) else None,
        ),
        others=others,
        count=len(positions),
        allocation=allocation_of(facts, row, "freed"),
        causes=(ID,),
        facts=(("node", name), ("place", place)),
    )
