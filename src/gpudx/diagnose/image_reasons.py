"""Coordinates in images, as checked kernels report them: writes outside of an image, and pixels for a sampler that wants normalized ones.

A kernel does not see how its sampler was made, so it reports pixels in the far half of an image wherever the sampler is an argument. They
are a fault only with a sampler that has normalized coordinates and does not repeat the image.
"""

from __future__ import annotations

import re
import struct

import numpy as np

from gpudx.diagnose.access_numbers import Why
from gpudx.diagnose.kernel_check_reports import Failure
from gpudx.facts.objects import KINDS
from gpudx.model import Site

REPEATING = (0x1133, 0x1134)  # CL_ADDRESS_REPEAT, CL_ADDRESS_MIRRORED_REPEAT (cl.h)
NORMALIZED, ADDRESSING = 0x1152, 0x1153  # CL_SAMPLER_NORMALIZED_COORDS, CL_SAMPLER_ADDRESSING_MODE
WORD = 8  # bytes of a property


def is_fault(f: Failure) -> bool:
    """What is no fault with the sampler that the launch was given does not count."""
    if f.kind != "image" or f.writes:
        return True
    if not f.site.uses or f.site.uses[0] < 0:
        return True  # a sampler in the source, which says that it is normalized
    made = _made(f)
    return made is not None and _is_normalized(f, made)


def what(f: Failure, label: str) -> str:
    """ "wrote at (640, 0), outside of argument 1 `dst` (640 x 480 pixels)"."""
    x, y = _coordinates(f)
    if f.writes:
        return f"wrote at ({x:g}, {y:g}), outside of {label}"
    return f"read {label} at ({x:g}, {y:g}) through a sampler with normalized coordinates, which go from 0 to 1"


def size(f: Failure) -> str:
    return f"{f.size & 0xFFFFFFFF:,} x {f.size >> 32 & 0xFFFFFFFF:,} pixels"


def why(f: Failure) -> Why | None:
    if f.kind != "image":
        return None
    width, height = f.size & 0xFFFFFFFF, f.size >> 32 & 0xFFFFFFFF
    if f.writes:
        launch = f.facts.launches.at_position(f.position)
        items = f.facts.launches.geometry(launch)[0] if launch is not None else ()
        if (exchanged := _exchanged(f, items, (width, height))) is not None:
            return exchanged
        axes = enumerate(zip(items, (width, height), strict=False))
        over = [f"{n:,} work-items in dimension {axis}" for axis, (n, most) in axes if n > most]
        text = f"The launch has {' and '.join(over)}, and the image has {width:,} x {height:,} pixels." if over else ""
        step = "Skip the write where a coordinate is negative or not less than get_image_width() or get_image_height()."
        return Why("out-of-bounds-access", text, (step,))
    made = _made(f) if f.site.uses and f.site.uses[0] >= 0 else None
    root = _site(f, made) if made is not None else None
    declared = "Declare the sampler with CLK_NORMALIZED_COORDS_FALSE"
    change = f"Create the sampler of argument {f.site.uses[0]} without normalized coordinates" if root is not None else declared
    text = "These are coordinates of a pixel: all of them beyond 1 are treated as the edge or the border of the image."
    step = f"{change}, or divide the coordinates by the width and the height of the image."
    return Why("out-of-bounds-access", text, (step,), root)


IDS = re.compile(r"get_global_id\s*\(\s*1\s*\)\s*,\s*get_global_id\s*\(\s*0\s*\)")


def _exchanged(f: Failure, items: tuple[int, ...], image: tuple[int, int]) -> Why | None:
    """The launch fits the image, and the work-item wrote at its ids the other way round."""
    x, y = _coordinates(f)
    if tuple(items[:2]) != image or image[0] == image[1] or (x, y) != (f.item[1], f.item[0]):
        return None
    shape = f"{image[0]:,} x {image[1]:,}"
    text = (
        f"Work-item ({f.item[0]}, {f.item[1]}) wrote at ({x:g}, {y:g}), its ids swapped: the launch has {shape} work-items and "
        f"the image {shape} pixels, so the two fit if the coordinates are swapped."
    )
    made = IDS.search(f.body)
    line = f.source[: f.source.index(f.body) + made.start()].count("\n") + 1 if made and f.body else 0
    step = "Use get_global_id(0) for x and get_global_id(1) for y, in this order."
    return Why("out-of-bounds-access", text, (step,), line=f.place(line, made[0]) if made and line else None)


def _coordinates(f: Failure) -> tuple[float, float]:
    kind = "<ii" if f.writes else "<ff"
    x, y = struct.unpack(kind, (f.offset & ((1 << 64) - 1)).to_bytes(8, "little"))
    return float(x), float(y)


def _made(f: Failure) -> int | None:
    """The call that made the sampler of the launch."""
    launch = f.facts.launches.at_position(f.position)
    given = f.facts.launches.values(launch) if launch is not None else ()
    handle = next((int.from_bytes(one["bytes"], "little") for one in given if one["index"] == f.site.uses[0]), 0)
    table = f.facts.objects.table
    mine = np.flatnonzero((table["handle"] == handle) & (table["kind"] == KINDS.index("sampler")) & (table["born"] < f.position))
    born = int(table["born"][mine[-1]]) if handle and len(mine) else -1
    return born if 0 <= born < len(f.facts.trace) else None


def _is_normalized(f: Failure, made: int) -> bool:
    record = f.facts.trace.record(made)
    if "normalized_coords" in record:
        return bool(record["normalized_coords"]) and record.get("addressing_mode") not in REPEATING
    listed = max(f.facts.trace.parts(made).values(), key=len, default=b"")
    words = [int.from_bytes(listed[at : at + WORD], "little") for at in range(0, len(listed) - WORD + 1, WORD)]
    given = dict(zip(words[::2], words[1::2], strict=False))
    return NORMALIZED in given and bool(given[NORMALIZED]) and given.get(ADDRESSING) not in REPEATING


def _site(f: Failure, position: int) -> Site:
    return f.facts.sites.at(position)
