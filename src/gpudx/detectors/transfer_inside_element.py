"""A copy begins or ends inside an element of a buffer: an offset, an origin or a size counts elements where the call takes bytes.

Offsets of clEnqueueCopyBuffer and cudaMemcpy, and the first number of an origin or a region of a rectangular copy, are bytes. A number of
elements is accepted, too, as long as it fits, and everything behind it is shifted.

Example:

    size_t from[3] = { roi.x, roi.y, 0 };                      // roi.x * sizeof(float)
    clEnqueueCopyBufferRect(queue, frame, part, from, to, region, width * sizeof(float), 0, ...);

Fix it by multiplying with the size of an element.

Reported if all launches that are passed the buffer declare its elements as numbers of one size, and a copy begins in the middle of one, or
ends there before the end of the buffer. Buffers that a kernel takes as bytes, as a structure or as `void *` are left out, and so are those
that are only copied. An offset in elements that is a multiple of the size by chance is not seen.

Only of programs that fail: one that passes may move bytes as it likes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from gpudx.detectors import Run
from gpudx.detectors._groups import MOST
from gpudx.facts import Facts
from gpudx.facts.accesses import READ
from gpudx.facts.allocated import allocation_of
from gpudx.facts.given_memory import uses
from gpudx.model import Cause, Evidence, Finding
from gpudx.model.cause_kinds import FIXED

ID = "transfer-inside-element"
CAUSE = Cause(
    id=ID,
    title="A copy begins or ends inside an element",
    refutes_if="The buffer holds bytes at this place, and the kernels that take it as numbers do not use them.",
    fix=("Multiply the number by the size of an element: the call takes bytes.",),
    predicts=(("recorded", "an offset or a size is no multiple of the size of the kernel's elements"),),
    kind=FIXED,
)
SIZES = {
    "short": 2, "ushort": 2, "half": 2, "int": 4, "uint": 4, "float": 4, "long": 8, "ulong": 8, "double": 8,
    "unsigned short": 2, "unsigned int": 4, "unsigned": 4, "unsigned long": 8,
}  # fmt: skip
QUALIFIERS = re.compile(r"\b(?:const|volatile|restrict|__restrict(?:__)?|__global|global|__constant|constant)\b")
VECTOR = re.compile(r"(?<=[a-z])(?:2|3|4|8|16)$")
BECAUSE = "The kernels' declarations give the size of an element; that the number counts elements is not shown."


def detect(facts: Facts, run: Run) -> Iterator[Finding]:
    """One finding per line; copies after the first are counted."""
    found: dict[object, list[np.void]] = {}
    elements = _elements(facts) if run.failed else {}
    for copy in _copies(facts, elements) if elements else ():
        site = facts.sites.at(int(copy["position"]))
        found.setdefault(site.source or site.number, []).append(copy)
    for copies in islice(found.values(), MOST):
        yield _finding(facts, copies, *elements[int(copies[0]["object"])])


def _elements(facts: Facts) -> dict[int, tuple[str, int]]:
    """Of each buffer that copies and launches use, the type of its elements and their size, where all launches declare the same size."""
    table, launches = uses(facts), facts.launches
    copied = np.unique(table["object"][_is_copy(facts)])
    mine = table[(table["argument"] >= 0) & ~table["inside"] & np.isin(table["object"], copied)]
    if not len(mine):
        return {}
    at = np.searchsorted(launches.position, mine["position"]).clip(0, len(launches) - 1)
    known = (launches.position[at] == mine["position"]) & (launches.kernel_row[at] >= 0)
    functions = np.where(known, facts.kernels.functions(launches.kernel_row[at]), -1)
    keys = np.stack([mine["object"], functions, mine["argument"]])
    found: dict[int, set[tuple[str, int]]] = {}
    for first in np.unique(keys, axis=1, return_index=True)[1].tolist():  # one launch of each kernel says it
        info = launches.info(int(at[first])) if known[first] else None
        declared = info.args.get(int(mine["argument"][first])) if info else None
        scalar = _scalar(declared.type) if declared else ""
        found.setdefault(int(mine["object"][first]), set()).add((scalar, SIZES.get(scalar, 0)))
    same = {obj: kinds for obj, kinds in found.items() if len({size for _, size in kinds}) == 1}
    return {obj: min(kinds) for obj, kinds in same.items() if min(kinds)[1]}


def _scalar(text: str) -> str:
    """ "float" of `const float4 *`; "" of what is no pointer to numbers."""
    plain = " ".join(QUALIFIERS.sub(" ", text).split())
    return VECTOR.sub("", plain[:-1].rstrip()) if plain.endswith("*") and plain.count("*") == 1 else ""


def _copies(facts: Facts, elements: dict[int, tuple[str, int]]) -> Iterator[np.void]:
    table = uses(facts)
    mine = table[_is_copy(facts) & np.isin(table["object"], list(elements))]
    sizes = np.array([elements[obj][1] for obj in mine["object"].tolist()], np.uint64)
    blocks = np.array(["region" in call.arrays for call in facts.trace.schema.calls])[facts.trace.call[mine["position"]]]
    odd = (mine["begin"] % sizes != 0) | (mine["end"] % sizes != 0) if len(mine) else blocks
    for use in mine[odd | blocks]:  # where a block begins is only in the call itself
        if _odd_numbers(facts, use, elements[int(use["object"])][1]):
            yield use


def _is_copy(facts: Facts) -> NDArray[np.bool_]:
    """Which uses are those of copies?"""
    table = uses(facts)
    copies = np.array([call.does == "copy" for call in facts.trace.schema.calls])[facts.trace.call[table["position"]]]
    return np.asarray(copies & (table["argument"] < 0))


def _finding(facts: Facts, copies: list[np.void], kind: str, size: int) -> Finding:
    copy = copies[0]
    position, obj = int(copy["position"]), int(copy["object"])
    site, label = facts.sites.at(position), facts.objects.label(obj)
    numbers = _odd_numbers(facts, copy, size)
    return Finding(
        id=ID,
        severity="error",
        message=(
            f"{site.call} (call {site.number}) begins or ends inside an element of {label}: {numbers[0][0]} is {numbers[0][1]:,} bytes, "
            f"and kernels take the buffer as numbers of type {kind}, which have {size} bytes."
        ),
        evidence=tuple(Evidence(f"{name} is {n:,}; {n:,} elements are {n * size:,} bytes", (site.number,)) for name, n in numbers),
        site=site,
        allocation=allocation_of(facts, obj),
        count=len(copies),
        causes=(ID,),
        certainty="observed",
        attribution="probable",
        because=BECAUSE,
        steps=tuple(f"Pass {n * size:,} as {name} if {n:,} counts elements: the call takes bytes." for name, n in numbers[:1]),
        facts=(("call", site.call),),
    )


def _odd_numbers(facts: Facts, copy: np.void, size: int) -> list[tuple[str, int]]:
    """Numbers of bytes of the call that end inside an element of this buffer: ("src_origin[0]", 37). Its rest may have any size."""
    position, obj = int(copy["position"]), int(copy["object"])
    info, record = facts.trace.info(position), facts.trace.record(position)
    side = "src" if copy["how"] & READ else "dst"
    names = ["offset", f"{side}_offset", *(["size"] if int(copy["end"]) < int(facts.objects.table["size"][obj]) else [])]
    arrays = [name for name in ("buffer_origin", f"{side}_origin", "region") if name in info.arrays]
    firsts = [(f"{name}[0]", np.frombuffer(facts.trace.array(position, name), np.uint64)) for name in arrays]
    numbers = [(str(name), int(record[name])) for name in names if name in record]  # type: ignore[literal-required]
    numbers += [(name, int(values[0])) for name, values in firsts if len(values)]
    return [(name, number) for name, number in numbers if number % size]
