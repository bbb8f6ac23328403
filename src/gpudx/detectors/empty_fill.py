"""A buffer was filled with 0 bytes, of a value that is the buffer's size: value and count are swapped.

cudaMemset takes the value second and the number of bytes third, as memset does. The call with both swapped succeeds and does nothing,
so the memory keeps what it held before: zeros in a first run, old results later.

Example:

    cudaMemset(hist, bins * sizeof(int), 0);           // value 4096, 0 bytes

Fix it by swapping the two: cudaMemset(hist, 0, bins * sizeof(int)).

The CUDA runtime handles such a call without the driver, so it is seen only in runs that record the runtime (gpudx investigate
makes one). A fill of 0 bytes with any other value is not reported: loops over empty parts make them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from gpudx.detectors import Run
from gpudx.facts import Facts
from gpudx.facts.allocated import allocation_of
from gpudx.model import Cause, Evidence, Finding
from gpudx.model.cause_kinds import FIXED

ID = "empty-fill"
CAUSE = Cause(
    id=ID,
    title="A fill has its value and its count swapped",
    refutes_if="The buffer is not meant to be filled there, and the value is its size by chance.",
    fix=("Swap the last two arguments: the value comes first, then the number of bytes.",),
    predicts=(("recorded", "a fill of 0 bytes has the buffer's size as its value"),),
    kind=FIXED,
)
LEAST = 2  # bytes: a value of 1 is too common


def detect(facts: Facts, run: Run) -> Iterator[Finding]:
    """One finding per line; repeats are counted."""
    same: dict[tuple[str, str], list[Finding]] = {}
    for fill in facts.empty_fills:
        row = facts.memory.one(fill.address, fill.site.number - 1)
        room = int(facts.objects.table["size"][row]) - facts.memory.offset(row, fill.address) if row >= 0 else 0
        if fill.value >= LEAST and fill.value == room:
            label = facts.objects.label(row)
            finding = Finding(
                id=ID,
                severity="error",
                message=(
                    f"{fill.site.call} filled 0 bytes of {label} with the value {fill.value:,}, which is the buffer's size: value and "
                    "count are swapped, and the buffer was not filled."
                ),
                evidence=(
                    Evidence(f"{fill.site.call} was passed value {fill.value:,} and count 0", (fill.site.number,)),
                    Evidence(f"{label} has {fill.value:,} bytes from that address on", (fill.site.number,)),
                ),
                site=fill.site,
                allocation=allocation_of(facts, row),
                causes=(ID,),
                facts=(("call", fill.site.call),),
            )
            same.setdefault((fill.site.call, fill.site.source or ""), []).append(finding)
    for found in same.values():
        yield replace(found[0], count=len(found))
