"""A copy of a rectangle uses a row pitch that does not fit its host memory.

The pitch is the number of bytes from one row to the next. One that is computed from the wrong dimension (the width instead of the
stride, the number of rows instead of that of columns) shifts each row a little more than the one before. The call succeeds.

Example:

    unsigned char *frame = malloc(height * stride);
    size_t pitch = width;                                // stride is meant
    clEnqueueWriteBufferRect(queue, image, CL_TRUE, device_origin, host_origin, region, 0, 0, pitch, 0, frame, 0, NULL, NULL);

Fix it by passing the bytes from one row to the next, as the memory was allocated.

Reported for runs that failed and logged the heap (the experiment host-heap of gpudx investigate), in two cases:

- The block of host memory is not a whole number of rows of this pitch, but of a larger one, less than twice as large.
- The block is exactly the rows that are copied from its start, with a larger pitch, and all copies with this block agree.

Not reported: blocks with a header or padding, and copies that use all of a block.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from gpudx.detectors import Run
from gpudx.detectors._groups import MOST
from gpudx.facts import Facts
from gpudx.model import Cause, Evidence, Finding
from gpudx.model.cause_kinds import FIXED

ID = "row-pitch"
CAUSE = Cause(
    id=ID,
    title="The row pitch of a copy does not fit the host memory",
    refutes_if="The rows of this host memory are as far apart as the pitch says.",
    fix=("Pass the bytes from the start of one row to the start of the next in the host memory: its stride, not the width of the copy.",),
    predicts=(("recorded", "the block of host memory is a whole number of rows of another pitch"),),
    kind=FIXED,
)
MOST_COPIES = 2000
UNIT = 4  # bytes that a pitch is a multiple of, nearly always
LEAST_ROWS = 4
PADDING = 128  # bytes behind the last row that programs add, as they add powers of two


@dataclass(frozen=True)
class Rectangle:
    """The host's side of a copy. `block`: where its memory begins, and its bytes."""

    position: int
    block: tuple[int, int]
    pitch: int
    begin: int  # bytes of a row before its first
    width: int
    first_row: int
    rows: int


def detect(facts: Facts, run: Run) -> Iterator[Finding]:
    """One finding per block of host memory."""
    if not run.failed or not facts.heap.logged:
        return
    by_block: dict[tuple[int, int], list[Rectangle]] = {}
    for one in _rectangles(facts):
        by_block.setdefault(one.block, []).append(one)
    for same in list(by_block.values())[:MOST]:
        if pitch := _expected(same):
            yield _finding(facts, same, pitch)


def _rectangles(facts: Facts) -> Iterator[Rectangle]:
    for position in facts.host_copies.table["position"][:MOST_COPIES].tolist():
        record, trace = facts.trace.record(position), facts.trace
        region, origin = (np.frombuffer(trace.array(position, name), np.uint64).tolist() for name in ("region", "host_origin"))
        if len(region) != 3 or len(origin) != 3 or not record.get("host_row_pitch") or region[2] != 1:
            continue
        block = facts.heap.block(record["ptr"], int(trace.column("begin", np.array([position]))[0]))
        if block is not None and block.address == record["ptr"] and region[1] >= LEAST_ROWS:
            yield Rectangle(position, (block.address, block.size), record["host_row_pitch"], origin[0], region[0], origin[1], region[1])


def _expected(same: list[Rectangle]) -> int | None:
    """The pitch that the block has room for exactly, None where the one that was passed may be right."""
    pitch, size = same[0].pitch, same[0].block[1]
    if any(one.pitch != pitch for one in same):
        return None
    if rest := size % pitch:
        last = max(one.first_row + one.rows for one in same)
        larger = range((pitch // UNIT + 1) * UNIT, 2 * pitch, UNIT)
        padded = rest <= PADDING or rest.bit_count() == 1
        return None if padded else next((one for one in larger if size % one == 0 and last <= size // one), None)
    rows = {(one.first_row, one.rows) for one in same}
    (first, count), whole = next(iter(rows)), size // pitch
    if len(rows) > 1 or first or count >= whole or size % count:
        return None
    wanted = size // count
    return wanted if wanted < 2 * pitch and all(one.begin + one.width <= pitch for one in same) else None


def _finding(facts: Facts, same: list[Rectangle], pitch: int) -> Finding:
    one, site = same[0], facts.sites.at(same[0].position)
    size = one.block[1]
    whole = f"{size // one.pitch:,} rows and {size % one.pitch:,} bytes" if size % one.pitch else f"{size // one.pitch:,} rows"
    return Finding(
        id=ID,
        severity="error",
        message=(
            f"{site.call} (call {site.number}) is passed a host row pitch of {one.pitch:,} bytes, but the host memory has {size:,} bytes = "
            f"{size // pitch:,} rows of {pitch:,}."
        ),
        evidence=(
            Evidence(f"with rows of {one.pitch:,} bytes the block would hold {whole}", (site.number,)),
            Evidence(
                f"the call copies {one.rows:,} rows of {one.width:,} bytes, from byte {one.begin:,} of row {one.first_row:,} on",
                (site.number,),
            ),
        ),
        site=site,
        count=len(same),
        causes=(ID,),
        facts=(("call", site.call), ("pitch", str(one.pitch)), ("wanted", str(pitch))),
    )
