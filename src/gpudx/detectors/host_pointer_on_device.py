"""A kernel was passed the address of ordinary host memory.

Most devices cannot reach memory that was neither allocated nor registered for them. The launch is accepted, and the kernel
faults at its first access.

Example:

    std::vector<float> data(n);
    scale<<<grid, block>>>(data.data(), n);        // an address of the heap

Fix it by copying the data to the device and passing the copy's address, or by allocating it as managed or pinned.

Reported only if the device cannot access pageable memory, and the address is on the process's heap or stack. A kernel
need not use every pointer it is passed (some of cuBLASLt's do not), so in a run without a device error it is a note.
A pointer in a structure is reported only of a launch that may have been running when the device reported an illegal address.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gpudx.detectors import Run
from gpudx.detectors._device_errors import first_report, may_have_faulted
from gpudx.detectors._groups import groups
from gpudx.detectors._words import argument
from gpudx.facts import Facts
from gpudx.facts.host_words import HostWord, host_words
from gpudx.model import Cause, Evidence, Finding, Severity
from gpudx.model.cause_kinds import FIXED

ID = "host-pointer-on-device"
CAUSE = Cause(
    id=ID,
    title="A kernel was passed the address of host memory",
    refutes_if="The device can access pageable memory, or the address is registered.",
    fix=(
        "Copy the data to the device and pass that address, or allocate it as managed or pinned memory (slower accesses).",
    ),
    predicts=(("recorded", "a pointer parameter is an address on the host's heap or stack"),),
    kind=FIXED,
)
HOST = {"heap": "on the program's heap", "stack": "on the program's stack"}
LOOKED_AT = 8  # different values of one argument


def detect(facts: Facts, run: Run) -> Iterator[Finding]:
    """One finding per kernel function and argument."""
    pointers, launches = facts.launches.pointers, facts.launches
    maybe = pointers.declared & (pointers.object < 0) & (pointers.value != 0) & ~pointers.inside
    rows = np.flatnonzero(maybe & ~launches.captured[pointers.launch])
    functions = facts.kernels.functions(launches.kernel_row[pointers.launch[rows]])
    faulted = first_report(facts) is not None or (len(rows) and may_have_faulted(facts))
    for part in groups(rows, functions, pointers.index[rows]):
        _, first = np.unique(pointers.value[part], return_index=True)
        found = next((int(part[i]) for i in np.sort(first)[:LOOKED_AT] if _is_host(facts, int(part[i]))), None)
        if found is not None:
            yield _given(facts, found, len(part), "error" if faulted else "info")
    yield from _in_structures(facts)


def _in_structures(facts: Facts) -> Iterator[Finding]:
    """Of each kernel the first launch that may have faulted."""
    seen: set[tuple[str, int, int]] = set()
    for launch in sorted(may_have_faulted(facts)):
        for word in () if _reaches(facts, launch) else host_words(facts, launch):
            place = (facts.launches.name(launch), word.argument, word.byte)
            if place not in seen:
                seen.add(place)
                yield _inside(facts, launch, word)


def _reaches(facts: Facts, launch: int) -> bool:
    """Can the launch's device access pageable host memory? Where that is unknown, nothing is reported."""
    device = facts.kernels.device_of(int(facts.launches.queue[launch]), int(facts.launches.position[launch]))
    return device is None or bool(device.numbers.get("pageable_access", 1))


def _is_host(facts: Facts, row: int) -> bool:
    pointers = facts.launches.pointers
    position = int(facts.launches.position[pointers.launch[row]])
    if _reaches(facts, int(pointers.launch[row])) or facts.memory.ends_at(int(pointers.value[row]), position) >= 0:
        return False
    return facts.symbols.kind(int(pointers.value[row])) in HOST


def _given(facts: Facts, row: int, count: int, severity: Severity) -> Finding:
    pointers = facts.launches.pointers
    launch, index, value = int(pointers.launch[row]), int(pointers.index[row]), int(pointers.value[row])
    name = argument(facts, int(facts.launches.kernel_row[launch]), index)
    return _finding(facts, launch, HostWord(index, 0, value), name, count, severity)


def _inside(facts: Facts, launch: int, word: HostWord) -> Finding:
    name = argument(facts, int(facts.launches.kernel_row[launch]), word.argument)
    return _finding(facts, launch, word, f"the pointer at byte {word.byte} of {name}", 1, "error")


def _finding(facts: Facts, launch: int, word: HostWord, name: str, count: int, severity: Severity) -> Finding:
    site = facts.sites.at(int(facts.launches.position[launch]), argument=word.argument, value=word.value)
    where = HOST[facts.symbols.kind(word.value) or "heap"]
    return Finding(
        id=ID,
        severity=severity,
        message=f"Kernel {site.kernel} was passed an address {where} as {name}, which the device cannot reach.",
        evidence=(
            Evidence(f"{word.value:#x} is {where}, and in no recorded device memory", (site.number,)),
            Evidence("the device reports that it cannot access pageable host memory"),
        ),
        site=site,
        count=count,
        causes=(ID,),
        facts=(("kernel", site.kernel or "?"), ("argument", str(word.argument))),
    )
