"""The program read back words that hold the pattern of fresh memory (gpudx run --poison).

Under --poison memory is filled when it is allocated, before the program gets it. Words that still hold the pattern when the
program reads them were not written since, or were copied or, as a NaN, computed from unwritten memory. Without --poison they
would hold whatever the memory held before.

It is not known whether the program uses these words, and a program could have written the same value itself (a grey image of
0xCB). So it is a warning. A program that passes without --poison and fails with it depends on uninitialized memory.

Example:

    float *sums;
    cudaMalloc(&sums, n * sizeof(float));
    add<<<blocks, 256>>>(sums, n - 1);                                   // the last one is never written
    cudaMemcpy(out, sums, n * sizeof(float), cudaMemcpyDeviceToHost);

Fix it by filling the memory first, or by finding out why the launch that should write all of it does not.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gpudx.detectors import Run
from gpudx.detectors._words import argument, site_of
from gpudx.facts import Facts
from gpudx.facts.allocated import allocation_of
from gpudx.facts.poison import CameBack
from gpudx.model import Access, Evidence, Finding
from gpudx.text import plural

ID = "unwritten-memory-read-back"
SHOWN = 4
ALL_OF_IT = (
    "The program read uninitialized words, and failed afterwards; it is not shown that it failed because of them: if it passes "
    "without --poison, it depends on them."
)
A_PART = (
    "A part of what the program read back is uninitialized. It is not known whether it uses that part: reading back padding or the rest "
    "of a buffer is harmless."
)


def detect(facts: Facts, run: Run) -> Iterator[Finding]:
    """One finding for each object, of the first reading that held the pattern; later ones are counted."""
    by_row: dict[int, list[CameBack]] = {}
    for one in facts.poison.back:
        by_row.setdefault(one.row, []).append(one)
    for found in by_row.values():
        yield _finding(facts, found[0], len(found))


def _finding(facts: Facts, back: CameBack, count: int) -> Finding:
    label, site = facts.objects.label(back.row), site_of(facts, back.position)
    what = f"{site.call} (call {site.number}) read back {plural(back.words, 'word')} of {label}"
    launches = _launches(facts, back)
    return Finding(
        id=ID,
        severity="warning",
        message=f"{what} that hold the pattern of fresh memory: nothing wrote them, or they came from uninitialized memory.",
        site=site,
        evidence=(*_seen(facts, back, label), *_given(facts, back, launches, label)),
        others=tuple(facts.sites.at(position, argument=index) for position, index in launches[-SHOWN:]),
        allocation=allocation_of(facts, back.row),
        certainty="observed",
        attribution="probable" if _is_all(back) else "unknown",
        because=ALL_OF_IT if _is_all(back) else A_PART,
        access=Access(kind="read", width=back.bytes, offset=back.first, seen_by="poison"),
        count=count,
        causes=("read-before-write",),
        steps=() if launches else (f"Pass {label} to the launch that should write it, or read back the buffer that it was passed.",),
        facts=(("call", site.call), ("size", str(int(facts.objects.table["size"][back.row])))),
    )


def _is_all(back: CameBack) -> bool:
    """Is everything that was read unwritten? Then nothing that the program needs can have been in it."""
    return back.words * 4 >= back.bytes - 3


def _seen(facts: Facts, back: CameBack, label: str) -> Iterator[Evidence]:
    born, pattern = int(facts.objects.table["born"][back.row]), facts.poison.pattern or 0
    if back.row in facts.poison.filled:
        yield Evidence(f"call {born + 1} made {label}, and the recorder filled it with {pattern:#x}", (born + 1,))
    yield Evidence(
        f"of {plural(back.bytes, 'byte')} from byte {back.offset:,} on, {plural(back.words, 'word')} of 4 bytes were "
        f"{pattern:#x}, the first at byte {back.first:,}",
        (back.position + 1,),
    )


def _launches(facts: Facts, back: CameBack) -> list[tuple[int, int]]:
    """Launches before the reading that were given the object: position and argument."""
    launches, args = facts.launches, facts.launches.arguments
    rows = np.flatnonzero((args.object == back.row) & (launches.position[args.launch] < back.position))
    found = {int(launches.position[args.launch[r]]): int(args.index[r]) for r in rows}
    pointers = launches.pointers
    for r in np.flatnonzero(pointers.object == back.row):
        position = int(launches.position[pointers.launch[r]])
        if position < back.position:
            found.setdefault(position, int(pointers.index[r]))
    return sorted(found.items())


def _given(facts: Facts, back: CameBack, launches: list[tuple[int, int]], label: str) -> Iterator[Evidence]:
    if not launches:
        yield Evidence(f"no launch before call {back.position + 1} is known to have been passed {label}")
    for position, index in launches[-SHOWN:]:
        launch = facts.launches.at_position(position) or 0
        what = argument(facts, int(facts.launches.kernel_row[launch]), index)
        yield Evidence(
            f"launch {launch + 1} of kernel {facts.launches.name(launch)} was passed {label} as {what}", (position + 1,)
        )
