"""Which call was given which memory: launches by their arguments, copies and fills by their ranges, one table for all APIs.

Unlike facts.uses, memory that only one queue uses is here too, and so are host memory and addresses inside structures.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpudx.facts import Facts
from gpudx.facts.accesses import MAY, READ, WRITE
from gpudx.facts.once import once

DTYPE = np.dtype(
    [
        ("position", "<i8"),
        ("object", "<i8"),
        ("begin", "<u8"),
        ("end", "<u8"),
        ("how", "u1"),
        ("argument", "<i4"),
        ("inside", "?"),
        ("vague", "?"),
    ]
)
ALL = np.iinfo(np.uint64).max


@once
def uses(facts: Facts) -> NDArray[np.void]:
    """One row per use, by position.

    begin, end  bytes from the object's start; of a pointer the first byte, since nobody knows how far a kernel goes
    how         READ, WRITE, and MAY for launches, which need not touch what they are given
    argument    of a launch, else -1
    inside      an address inside a structure, which may be a member that the kernel does not use
    vague       such an address, or an argument of which nobody knows whether the kernel may write it
    """
    table = np.concatenate([_pointers(facts), _ranges(facts), _handles(facts), _shared(facts)])
    table["vague"] = table["inside"] | ((table["argument"] >= 0) & ~_declared(facts, table))
    return table[np.argsort(table["position"], kind="stable")]


def _declared(facts: Facts, table: NDArray[np.void]) -> NDArray[np.bool_]:
    """Is the type of a launch's argument known?"""
    launches = facts.launches
    if not len(launches):
        return np.zeros(len(table), bool)
    launch = np.searchsorted(launches.position, table["position"]).clip(0, len(launches) - 1)
    known: NDArray[np.bool_] = launches.declared.get("known", launches.kernel_row[launch], table["argument"])
    return known


def _pointers(facts: Facts) -> NDArray[np.void]:
    launches, pointers = facts.launches, facts.launches.pointers
    ran = (launches.status == 0) & launches.done & ~launches.captured
    rows = np.flatnonzero((pointers.object >= 0) & pointers.live & ran[pointers.launch])
    launch, index = pointers.launch[rows], pointers.index[rows]
    begin = pointers.value[rows] - facts.objects.table["handle"][pointers.object[rows]]
    read_only = launches.declared.get("read_only", launches.kernel_row[launch], index) & ~pointers.inside[rows]
    return _rows(
        position=launches.position[launch],
        object=pointers.object[rows],
        begin=begin,
        end=begin + np.uint64(1),
        how=np.where(read_only, READ | MAY, READ | WRITE | MAY),
        argument=index,
        inside=pointers.inside[rows],
    )


def _ranges(facts: Facts) -> NDArray[np.void]:
    rows = np.flatnonzero((facts.ranges.object >= 0) & facts.ranges.live)
    rows = rows[facts.trace.column("status", facts.ranges.table["position"][rows]) == 0]
    table, objects = facts.ranges.table[rows], facts.ranges.object[rows]
    begin = table["address"] - facts.objects.table["handle"][objects]
    return _rows(position=table["position"], object=objects, begin=begin, end=begin + table["size"], how=table["how"])


def _handles(facts: Facts) -> NDArray[np.void]:
    """Objects that calls name by handles. A part of a buffer, and an image over it, is that buffer, at its offset."""
    table, objects = facts.accesses, facts.objects.table
    root, begin = table["object"].copy(), table["offset"].copy()
    while ((parent := objects["parent"][root]) >= 0).any():  # an image can be made over another one
        begin += np.where(parent >= 0, objects["offset"][root], 0).astype(np.uint64)
        root = np.where(parent >= 0, parent, root)
    room = np.where(table["size"] > 0, table["size"], objects["size"][table["object"]])
    return _rows(
        position=table["position"],
        object=root,
        begin=begin,
        end=np.where(room > 0, begin + room, ALL),
        how=table["how"],
        argument=table["argument"],
    )


def _shared(facts: Facts) -> NDArray[np.void]:
    """Shared virtual memory that launches were given by its first address."""
    args, launches = facts.launches.arguments, facts.launches
    rows = np.flatnonzero(np.isin(args.object, facts.objects.rows_of("svm")))
    rows = rows[(launches.status[args.launch[rows]] == 0) & ~launches.by_address[args.launch[rows]]]
    position = launches.position[args.launch[rows]]
    how = np.full(len(rows), READ | WRITE | MAY)
    return _rows(position=position, object=args.object[rows], end=ALL, how=how, argument=args.index[rows])


def _rows(position: NDArray[np.int64], argument: object = -1, **columns: object) -> NDArray[np.void]:
    table = np.zeros(len(position), DTYPE)
    table["position"], table["argument"] = position, argument
    for name, column in columns.items():
        table[name] = column
    return table


@once
def work(facts: Facts) -> NDArray[np.int64]:
    """The operation that each use is part of, a row of Happens.ops, or -1."""
    return facts.happens.op_at(uses(facts)["position"])


def conflict(first: NDArray[np.void], second: NDArray[np.void]) -> NDArray[np.bool_]:
    """Do two uses of one object meet, one of them writing?"""
    meet = (first["begin"] < second["end"]) & (second["begin"] < first["end"])
    return meet & (((first["how"] | second["how"]) & WRITE) != 0)


def surely(pair: NDArray[np.void]) -> bool:
    """Does one of two uses write for sure, rather than being a launch that may?"""
    return bool((((pair["how"] & WRITE) != 0) & ((pair["how"] & MAY) == 0)).any())
