"""Wrappers of launches that CUDA and HIP have in one shape: a kernel, a grid and a block, a stream and the kernel's arguments.

By hand, in native/NAME/launches.c, is what comes before the driver (`launch_begins`) and behind it (`launch_ends`), and launches of other
shapes: by a configuration, and by what earlier calls set.
"""

from __future__ import annotations

from driver_header import per_thread, prototype
from driver_model import DriverCall

HEAD = "/* Made by tools/generate.py. Included by launches.c, behind what is by hand. */\n#pragma once\n"
WRAPPER = """\
{hot}{prototype}
{{
    struct launching at{uneven};
    const struct gdx_shape shape = {{ {shape} }};
    launch_begins(&at, GDX_CALL_{call}, __builtin_return_address(0), kernel, shape, queue, {own_thread}, params, {extra});
    {result} status = {table}.{name}({arguments});
    launch_ends(&at, kernel, queue, {own_thread}, params, {extra}, status);
    return status;
}}
"""
AXES = "xyz"


def shape_of(call: DriverCall) -> list[str]:
    """Extents of grid and block as C expressions. Some entries are given work-items instead of blocks."""
    names = {p.name for p in call.params}
    if "grid" in names:
        extents = [f"{part}.{axis}" for part in ("grid", "block") for axis in AXES]
    elif "items_x" in names:
        extents = [*(f"groups(items_{axis}, block_{axis})" for axis in AXES), *(f"block_{axis}" for axis in AXES)]
    else:
        extents = [f"{part}_{axis}" for part in ("grid", "block") for axis in AXES]
    return [*extents, "shared_bytes"]


def uneven(call: DriverCall) -> str:
    """Where work-items are given: are they no multiple of the block, so that the last blocks are smaller?"""
    given = any(p.name == "items_x" for p in call.params)
    parts = " || ".join(f"is_cut(items_{axis}, block_{axis})" for axis in AXES)
    return f" = {{ .uneven = {parts} }}" if given else " = { .uneven = false }" if call.driver.short == "hip" else ""


def table(call: DriverCall) -> str:
    """Where the driver's function is found: CUDA's hot ones lie beside what each launch needs anyway."""
    short = call.driver.short
    return f"gdx_{short}_launch" if call.hot and short == "cu" else f"gdx_{short}_next"


def wrapper(call: DriverCall, name: str) -> str:
    return WRAPPER.format(
        hot="GDX_HOT " if call.hot else "",
        prototype=prototype(call, "rec_" + name),
        uneven=uneven(call),
        shape=", ".join(shape_of(call)),
        call=call.name,
        own_thread=str(per_thread(call, name)).lower(),
        extra="extra" if any(p.name == "extra" for p in call.params) else "NULL",
        result=call.driver.result,
        table=table(call),
        name=name,
        arguments=", ".join(p.name for p in call.params),
    )


def header(calls: list[DriverCall]) -> str:
    own = [(call, name) for call in calls if call.shaped_launch for name in call.names]
    return "\n".join([HEAD, *(wrapper(call, name) for call, name in own)])
