"""The kernels of a build as a table: what each takes, and the bound that this sets."""

from __future__ import annotations

from gpudx.backends.mangling import function_name
from gpudx.model import Built, Case
from gpudx.report.blocks import Paragraph, Section, Table

COLUMNS = (
    "kernel", "arch", "registers", "spill_stores", "spill_loads", "stack", "shared", "local", "constant", "barriers",
    "max_threads", "wave", "bound", "blocks", "source", "image",
)  # fmt: skip
SHOWN = ("kernel", "arch", "regs", "spilled", "stack", "shared", "bound")
SOMETIMES = ("local", "max_threads", "wave")  # shown where some kernel tells them
MOST_ROWS = 50
LONGEST_NAME = 60
UNTOLD = "?"

Cell = str | int | None


def row(one: Built) -> tuple[Cell, ...]:
    """Every number, in the order of COLUMNS; None where it was not told."""
    build, limit = one.build, one.occupancy
    return (
        build.kernel, build.arch, build.registers, build.spill_stores, build.spill_loads, build.stack_bytes,
        build.static_shared_bytes, build.local_bytes, build.constant_bytes, build.barriers, build.max_threads,
        build.wave_size, _bound(one), limit.blocks if limit else None, build.source, build.image,
    )  # fmt: skip


def table(case: Case) -> Table:
    """The kernels that take most, the heaviest first."""
    worst = sorted(case.kernels, key=_weight, reverse=True)
    also = tuple(name for name in SOMETIMES if any(_number(one, name) is not None for one in worst))
    rows = tuple((*_cells(one), *(_shown(_number(one, name)) for name in also)) for one in worst[:MOST_ROWS])
    return Table((*SHOWN, *(name.replace("max_", "") for name in also)), rows)


def kernels(case: Case) -> Section:
    """The section of a report; nothing where no compiler output about kernels."""
    if not case.kernels:
        return Section("", ())
    more = len(case.kernels) - MOST_ROWS
    tail = (Paragraph(f"and {more:,} more; case.json has them all"),) if more > 0 else ()
    note = Paragraph(
        "Sizes are in bytes, registers per thread; bound: how many warps or waves the registers leave room for, of the maximum."
    )
    return Section(
        f"Kernels as built: {len(case.kernels):,}",
        (table(case), *tail, note),
    )


def _weight(one: Built) -> tuple[int, int, int]:
    build = one.build
    return (build.spill_stores or 0, build.stack_bytes or 0, build.registers or 0)


def _cells(one: Built) -> tuple[str, ...]:
    build = one.build
    name = function_name(build.mangled) or build.kernel
    name = name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 3] + "..."
    numbers = (build.registers, build.spill_stores, build.stack_bytes, build.static_shared_bytes)
    return (name, build.arch or UNTOLD, *map(_shown, numbers), _bound(one) or UNTOLD)


def _number(one: Built, name: str) -> int | None:
    value = row(one)[COLUMNS.index(name)]
    return value if isinstance(value, int) else None


def _shown(number: int | None) -> str:
    return UNTOLD if number is None else f"{number:,}"


def _bound(one: Built) -> str | None:
    limit = one.occupancy
    return None if limit is None else f"{limit.waves} of {limit.most} {limit.unit}"
