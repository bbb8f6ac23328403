"""A kernel reads a texture at coordinates of the wrong kind: pixel numbers where they go from 0 to 1, or the other way round.

Whether coordinates are normalized is decided where the texture object is created, not in the kernel. With the wrong kind, all reads give
the same pixel or the edge. No call fails, and no access leaves the memory.

Example:

    cudaTextureDesc desc = {};
    desc.normalizedCoords = 1;
    cudaCreateTextureObject(&image, &resource, &desc, nullptr);
    ... float v = tex2D<float>(image, x + 0.5f, y + 0.5f);      // in the kernel: pixel numbers

Fix it by creating the texture with the kind of coordinates that the kernel uses, or by dividing them by the width and the height.

Reported where the kernel's PTX, in the program's files, shows what all its coordinates of this texture are: whole numbers with constants
added, at least one of them a global id, and the texture is normalized; or global ids divided by the number of threads in that dimension
(but for rounding up to whole blocks), and the texture is not.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from gpudx.detectors import Run
from gpudx.detectors._device_errors import first_report
from gpudx.detectors._groups import groups
from gpudx.detectors._words import argument
from gpudx.facts import Facts, backend_module
from gpudx.facts.kernel_code import values_of
from gpudx.facts.objects import KINDS
from gpudx.model import Cause, Evidence, Finding
from gpudx.model.cause_kinds import FIXED

if TYPE_CHECKING:
    from gpudx.ptx_checks.values import Values

ID = "texture-coordinates"
CAUSE = Cause(
    id=ID,
    title="A texture is read at coordinates of the wrong kind",
    refutes_if="The texture was created for the kind of coordinates that the kernel uses.",
    fix=("Create the texture with normalized coordinates if the kernel's go from 0 to 1, and without them if they are pixel numbers.",),
    predicts=(("recorded", "the texture's description and the coordinates in the kernel's code do not fit together"),),
    kind=FIXED,
)
HANDLE = 8  # bytes
TEXTURE = KINDS.index("texture")
LOOKED_AT = 64  # launches of one kernel
FEWEST = 3  # threads in a dimension: with two, 0 and 1 may be meant as they are
PIXELS, FRACTIONS = "pixel numbers", "fractions from 0 to 1"
BECAUSE = "The texture and the coordinates do not fit together; it is not shown that the program failed because of it."


def detect(facts: Facts, run: Run) -> Iterator[Finding]:
    """One finding per kernel and argument: of the first launch that shows it."""
    launches = facts.launches
    rows = np.flatnonzero((launches.status == 0) & launches.by_address)
    for part in groups(rows, facts.kernels.functions(launches.kernel_row[rows])) if len(facts.objects.rows_of("texture")) else ():
        told: set[int] = set()
        for row in part[:LOOKED_AT].tolist():
            for index, texture in _given(facts, row):
                passes = _wrong(facts, row, index, texture) if index not in told else ""
                if passes:
                    told.add(index)
                    yield _finding(facts, run, row, texture, passes, index)


def _given(facts: Facts, row: int) -> Iterator[tuple[int, int]]:
    """The arguments that have the number of a texture, and the textures (rows of Objects)."""
    for one in facts.launches.values(row):
        number = np.array([int.from_bytes(one["bytes"], "little")], np.uint64) if one["size"] == HANDLE else None
        texture = int(facts.objects.live_at(number, facts.launches.position[[row]])[0]) if number is not None else -1
        if texture >= 0 and facts.objects.table["kind"][texture] == TEXTURE:
            yield int(one["index"]), texture


def _wrong(facts: Facts, row: int, index: int, texture: int) -> str:
    """What the kernel passes, where that is the wrong kind for the texture; else ""."""
    normalized, values = _is_normalized(facts, texture), values_of(facts, int(facts.launches.kernel_row[row]))
    if normalized is None or values is None:
        return ""
    coordinates = [register for one in values.samples() if one.parameter == index for register in one.coordinates]
    if normalized and _are_pixels(facts, row, values, coordinates):
        return PIXELS
    return FRACTIONS if not normalized and _are_fractions(facts, row, values, coordinates) else ""


def _is_normalized(facts: Facts, texture: int) -> bool | None:
    born = int(facts.objects.table["born"][texture])
    info = facts.trace.info(born) if born >= 0 else None
    textures = backend_module(info.api, "textures") if info is not None and "texture" in info.arrays else None
    found: bool | None = textures.is_normalized(facts.trace.array(born, "texture")) if textures else None
    return found


def _are_pixels(facts: Facts, row: int, values: Values, coordinates: list[str]) -> bool:
    whole = [values.whole(register) for register in coordinates]
    axes = [values.axis(one) for one in whole if one is not None]
    items, _ = facts.launches.geometry(row)
    return None not in whole and any(axis is not None and items["xyz".index(axis)] >= FEWEST for axis in axes)


def _are_fractions(facts: Facts, row: int, values: Values, coordinates: list[str]) -> bool:
    """Are all of them ids over as many as there are of them?"""
    ratios = [values.ratio(register) for register in coordinates]
    return bool(ratios) and all(ratio is not None and _covers(facts, row, values, *ratio) for ratio in ratios)


def _covers(facts: Facts, row: int, values: Values, over: str, under: str) -> bool:
    axis, parameter = values.axis(over), values.parameter(under)
    if axis is None or parameter is None:
        return False
    items, group = (sizes["xyz".index(axis)] for sizes in facts.launches.geometry(row))
    given = next((int.from_bytes(one["bytes"], "little") for one in facts.launches.values(row) if one["index"] == parameter), 0)
    return given >= FEWEST and given <= items < given + group


def _finding(facts: Facts, run: Run, row: int, texture: int, passes: str, index: int) -> Finding:
    site = facts.sites.at(int(facts.launches.position[row]), argument=index)
    made = facts.sites.at(int(facts.objects.table["born"][texture]))
    wanted = FRACTIONS if passes == PIXELS else PIXELS
    name = argument(facts, int(facts.launches.kernel_row[row]), index)
    with_or_without = "with" if passes == PIXELS else "without"
    step = "without" if passes == PIXELS else "with"
    instead = "divide them by the width and the height" if passes == PIXELS else "multiply them by the width and the height"
    return Finding(
        id=ID,
        severity="error" if run.outcome.kind == "exit" and first_report(facts) is None else "warning",  # it makes no access fail
        message=(
            f"Kernel {site.kernel} (launch {site.launch}) reads texture {name} at {passes}, but {made.call} (call {made.number}) created "
            f"it {with_or_without} normalized coordinates, for {wanted}: it gets one pixel or the edge again and again."
        ),
        evidence=(
            Evidence(f"{made.call} created the texture {with_or_without} normalized coordinates", (made.number,)),
            Evidence(f"the kernel's code computes all its coordinates of this texture as {passes}", (site.number,)),
        ),
        site=site,
        others=(made,),
        causes=(ID,),
        because=BECAUSE,
        root=made,
        steps=(f"Create the texture {step} normalized coordinates, or {instead} in the kernel.",),
        facts=(("kernel", site.kernel or "?"), ("argument", str(index))),
    )
