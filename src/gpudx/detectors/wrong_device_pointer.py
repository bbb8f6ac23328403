"""A kernel was passed memory of another device.

A pointer is valid for the device it was allocated on, and for those that have access to it. The launch is
accepted; whether the kernel can reach the memory depends on the machine's links and on what was enabled.

Example:

    cudaSetDevice(0); cudaMalloc(&data, bytes);
    cudaSetDevice(1); scale<<<grid, block>>>(data, n);

Fix it by setting the device before allocating, or by enabling peer access, where the devices have it.

It is a warning, and an error for a launch that may have been running when the device reported an illegal address. Not reported
if the program enabled peer access or set access rights anywhere, and for memory that all devices can reach (managed, host,
mapped, imported).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from gpudx.detectors import Run
from gpudx.detectors._device_errors import may_have_faulted
from gpudx.detectors._groups import groups
from gpudx.detectors._other_device import devices, strangers
from gpudx.detectors._words import argument
from gpudx.facts import Facts
from gpudx.facts.allocated import allocation_of
from gpudx.model import Cause, Evidence, Finding
from gpudx.model.cause_kinds import FIXED
from gpudx.text import capital

ID = "wrong-device-pointer"
CAUSE = Cause(
    id=ID,
    title="A kernel was passed memory of another device",
    refutes_if="The devices have access to each other's memory.",
    fix=(
        "Set the device at the beginning of each thread, before its first call: a new thread is on device 0.",
        "Allocate on the device that launches, or enable peer access.",
    ),
    predicts=(("recorded", "the memory's device is not that of the launch"),),
    kind=FIXED,
)


def detect(facts: Facts, run: Run) -> Iterator[Finding]:
    """One finding per kernel function and argument."""
    pointers, launches = facts.launches.pointers, facts.launches
    rows = strangers(facts)
    if not len(rows):
        return
    functions = facts.kernels.functions(launches.kernel_row[pointers.launch[rows]])
    faulted = may_have_faulted(facts)
    for part in groups(rows, functions, pointers.index[rows]):
        guilty = [int(r) for r in part if int(pointers.launch[r]) in faulted]
        row = guilty[0] if guilty else int(part[0])
        yield _finding(facts, row, len(part), bool(guilty), _is_all_strange(facts, row, rows))


def _is_all_strange(facts: Facts, row: int, strange: NDArray[np.int64]) -> bool:
    """Is all memory that the launch was given of other devices? Then it can access nothing of it without a fault."""
    pointers = facts.launches.pointers
    return bool(np.isin(np.flatnonzero(pointers.launch == pointers.launch[row]), strange).all())


def _finding(facts: Facts, row: int, count: int, faulted: bool, all_strange: bool) -> Finding:
    pointers = facts.launches.pointers
    launch, index, obj = int(pointers.launch[row]), int(pointers.index[row]), int(pointers.object[row])
    home, here = devices(facts, row)
    site = facts.sites.at(int(facts.launches.position[launch]), argument=index, value=int(pointers.value[row]))
    name, label = argument(facts, int(facts.launches.kernel_row[launch]), index), facts.objects.label(obj)
    return Finding(
        id=ID,
        severity="error" if faulted else "warning",
        message=f"{capital(label)} was allocated on device {home} and passed to kernel {site.kernel} on device {here} as {name}.",
        evidence=(
            Evidence(f"{label} was allocated on device {home}", (int(facts.objects.table["born"][obj]) + 1,)),
            Evidence(f"the launch is on device {here}, and no call let it reach other devices' memory", (site.number,)),
            *_thread(facts, row),
        ),
        site=site,
        count=count,
        allocation=allocation_of(facts, obj),
        causes=(ID,),
        facts=(("kernel", site.kernel or "?"), ("argument", str(index))),
        inevitable=all_strange,
        because="All memory that this launch was passed is out of its reach." if all_strange else "",
    )


def _thread(facts: Facts, row: int) -> list[Evidence]:
    """That another thread allocated it: the current device belongs to the thread."""
    pointers = facts.launches.pointers
    born, launch = (
        int(facts.objects.table["born"][pointers.object[row]]),
        int(facts.launches.position[pointers.launch[row]]),
    )
    first, second = (int(tid) for tid in facts.trace.column("tid", np.array([born, launch])))
    if first == second:
        return []
    said = f"thread {first} allocated it and thread {second} launched: each thread has its own current device"
    return [Evidence(said, (born + 1, launch + 1))]
