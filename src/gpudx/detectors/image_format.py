"""A kernel reads or writes an image with a function that is not for the image's format.

read_imagef and write_imagef are for normalized and floating-point channels, read_imagei and write_imagei for signed integers, read_imageui
and write_imageui for unsigned ones. With another format the result is undefined (OpenCL C specification, image read and write functions).
No call fails: drivers convert the bits in their own ways, and the picture is black, white or nearly right.

Example:

    cl_image_format format = {CL_RGBA, CL_UNSIGNED_INT8};
    image = clCreateImage(context, CL_MEM_READ_ONLY, &format, &desc, NULL, NULL);
    ... float4 c = read_imagef(image, sampler, at);      // in the kernel: for CL_UNORM_INT8

Fix it by creating the image with a format that fits the function (CL_UNORM_INT8 for colours between 0 and 1), or by reading it with the
function for its format.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from gpudx.detectors import Run
from gpudx.detectors._groups import groups
from gpudx.facts import Facts, backend_module
from gpudx.facts.allocated import allocation_of
from gpudx.facts.objects import KINDS
from gpudx.model import Cause, Evidence, Finding
from gpudx.model.cause_kinds import FIXED

ID = "image-format"
CAUSE = Cause(
    id=ID,
    title="An image is accessed with a function that is not for its format",
    refutes_if="The image has another format than the one that it was created with.",
    fix=("Create the image with a format that fits the function, or use the function for its format.",),
    predicts=(("recorded", "the format of the image and the function in the kernel's source do not fit together"),),
    kind=FIXED,
)
BECAUSE = "The format and the function do not fit together, so what is read or written is undefined."


def detect(facts: Facts, run: Run) -> Iterator[Finding]:
    """One finding per kernel and argument: of its first launch."""
    launches = facts.launches
    rows = np.flatnonzero(launches.status == 0)
    for part in groups(rows, facts.kernels.functions(launches.kernel_row[rows])) if len(facts.objects.rows_of("image")) else ():
        used = facts.kernels.image_functions(int(launches.kernel_row[part[0]]))
        found = {index: row for row in part[::-1].tolist() for index in (_wrong(facts, row, used) if used else ())}
        for index, row in found.items():
            yield _finding(facts, row, index, used)


def _wrong(facts: Facts, row: int, used: dict[str, frozenset[str]]) -> list[int]:
    """Arguments with a format that a function of the kernel is not for."""
    return [
        int(one["index"])
        for one in facts.launches.values(row)
        if one["declared"] is not None and (name := one["declared"].name) in used and _misfit(_channels(facts, one["object"]), used[name])
    ]


def _channels(facts: Facts, memory: int) -> tuple[str, str] | None:
    """The channel type of an image, and the functions for it."""
    table = facts.objects.table
    if memory < 0 or table["kind"][memory] != KINDS.index("image") or table["born"][memory] < 0:
        return None
    kept = facts.trace.array(int(table["born"][memory]), "format")
    formats = _formats(facts, memory)
    return formats.CHANNELS.get(int.from_bytes(kept[4:8], "little")) if formats is not None and len(kept) >= 8 else None


def _formats(facts: Facts, memory: int) -> Any:
    """What the image's API says of formats; None where it says nothing."""
    return backend_module(facts.trace.info(int(facts.objects.table["born"][memory])).api, "image_formats")


def _misfit(channels: tuple[str, str] | None, functions: frozenset[str]) -> str:
    """The first function that is for other channels; "" if there is none."""
    return next((one for one in sorted(functions) if channels and one.rpartition("_image")[2] != channels[1]), "")


def _finding(facts: Facts, row: int, index: int, used: dict[str, frozenset[str]]) -> Finding:
    given = next(one for one in facts.launches.values(row) if one["index"] == index)
    memory, name, channels = int(given["object"]), given["declared"].name, _channels(facts, int(given["object"]))
    assert channels is not None
    function, (kind, suffix) = _misfit(channels, used[name]), channels
    site = facts.sites.at(int(facts.launches.position[row]), argument=index)
    made = facts.sites.at(int(facts.objects.table["born"][memory]))
    fitting = f"{function.rpartition('_image')[0]}_image{suffix}"
    meant = _formats(facts, memory).MEANT.get((kind, function.rpartition("_image")[2]))
    other = f"Use {fitting}, or create the image with a format for {function}."
    step = f"Create the image as {meant}, or use {fitting}." if meant else other
    return Finding(
        id=ID,
        severity="error",
        message=(
            f"Kernel {site.kernel} (launch {site.launch}) accesses {facts.objects.label(memory)} (argument {index} `{name}`) with "
            f"{function}, but the image has channels of the type {kind}: what {function} does with it is undefined."
        ),
        evidence=(
            Evidence(f"{made.call} (call {made.number}) created the image with {kind}", (made.number,)),
            Evidence(f"{fitting} is the function for this type", (site.number,)),
        ),
        site=site,
        others=(made,),
        allocation=allocation_of(facts, memory),
        causes=(ID,),
        certainty="observed",
        attribution="this",
        because=BECAUSE,
        root=made,
        steps=(step,),
        facts=(("kernel", site.kernel or "?"), ("argument", str(index)), ("format", kind)),
    )
