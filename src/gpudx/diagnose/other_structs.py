"""A buffer of structs that another kernel of the program takes: the wrong kernel was launched for it."""

from __future__ import annotations

from dataclasses import replace

from gpudx.diagnose.access_numbers import Numbers, Why
from gpudx.diagnose.kernel_check_reports import Failure
from gpudx.kernel_checks import layouts, values

LEAST = 2  # structs; one fits too much


def why(f: Failure) -> Why | None:
    """The buffer has exactly as many structs of another kernel as the launch accesses of its own, larger ones."""
    mine = layouts.read(f.thing.layout) if f.kind == "bounds" and f.thing is not None and f.thing.kind == "argument" else None
    numbers = Numbers(f)
    needed = _needed(numbers) if mine is not None else None
    if mine is None or needed is None or f.thing is None:
        return None
    for other in f.things:
        layout = layouts.read(other.layout) if other.kind == "argument" and other.function != f.thing.function else None
        if layout is None or layout.name == mine.name or layout.size >= mine.size or layout.size * needed != f.size:
            continue
        text = (
            f"{numbers.name} has {f.size:,} bytes, which is exactly {needed:,} structs `{layout.name}` of {layout.size} bytes, as kernel"
            f" {other.function} takes them; this kernel takes `{mine.name}`, which has {mine.size} bytes."
        )
        step = f"Check why {f.thing.function} was launched with this buffer and not {other.function}."
        return Why("out-of-bounds-access", text, (step,), f.facts.sites.at(f.position))
    return None


def _needed(n: Numbers) -> int | None:
    """How many elements the launch accesses: the index of its last work-item is the largest."""
    if n.tree is None or n.solved is None:
        return None
    ids = dict(n.solved.ids)
    for axis in range(3):
        ids["get_global_id", axis] = n.global_offset(axis) + ids["get_global_size", axis] - 1
        for name in ("get_local_id", "get_group_id"):
            ids.pop((name, axis), None)
    try:
        last = values.value(n.tree, replace(n.solved, ids=ids))
    except values.Unknown:
        return None
    return last + 1 if last + 1 >= max(LEAST, n.index + 1) else None
