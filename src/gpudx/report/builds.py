"""The table of kernels with what the compiler made of them."""

from __future__ import annotations

from collections.abc import Callable

from gpudx.backends.mangling import function_name
from gpudx.model import Case, KernelBuild
from gpudx.report.blocks import Block, Paragraph, Section, Table

MOST_ROWS = 200
LONGEST_NAME = 48
Column = tuple[str, Callable[[KernelBuild], int | None]]

# What no kernel tells is left out.
COLUMNS: tuple[Column, ...] = (
    ("registers", lambda build: build.registers),
    ("spills", lambda build: _most(build.spill_stores, build.spill_loads)),
    ("stack", lambda build: build.stack_bytes),
    ("shared", lambda build: build.static_shared_bytes),
    ("local", lambda build: build.local_bytes),
    ("threads", lambda build: build.max_threads),
    ("wave", lambda build: build.wave_size),
)


def section(case: Case) -> Section:
    """One row per kernel and architecture, in the order of the file."""
    builds = case.kernel_builds
    told = [(name, number) for name, number in COLUMNS if any(number(build) is not None for build in builds)]
    rows = tuple((_name(one), one.arch, *(_shown(number(one)) for _, number in told)) for one in builds[:MOST_ROWS])
    if not rows:
        return Section("Kernels", ())
    left = len(builds) - len(rows)
    more = (Paragraph(f"and {left:,} more; case.json has them all"),) if left > 0 else ()
    head = Paragraph('Sizes are in bytes; all but shared memory are of one thread; "-" was not told.')
    blocks: tuple[Block, ...] = (head, Table(("kernel", "arch", *(name for name, _ in told)), rows), *more)
    return Section("Kernels", blocks)


def _name(build: KernelBuild) -> str:
    """Without return type and parameters; templates stay."""
    name = function_name(build.mangled) or build.kernel
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 3]}..."


def _shown(number: int | None) -> str:
    return "-" if number is None else f"{number:,}"


def _most(*numbers: int | None) -> int | None:
    known = [number for number in numbers if number is not None]
    return max(known) if known else None
