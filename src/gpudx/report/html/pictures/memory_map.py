"""Blocks of memory, in order of address."""

from __future__ import annotations

from dataclasses import asdict, replace

from gpudx.model import Case
from gpudx.model.drawing import BLOCKS, MemoryMap
from gpudx.report import Page
from gpudx.report.html.pictures.canvas import canvas

CLASSES = ("launch", "freed", "small", "meant")
LEGEND = (*zip(CLASSES, BLOCKS, strict=True), ("guard", "guard"), ("victim", "address"))


def draw(case: Case, page: Page) -> str:
    """One canvas per process."""
    assert page.drawing is not None
    return "".join(_one(one) for one in page.drawing.maps)


def _one(one: MemoryMap) -> str:
    label = f"Memory of process {one.pid} at call {one.as_of:,}: {len(one.columns['state']):,} blocks"
    points = [{**asdict(point), "address": f"{point.address:#x}"} for point in one.points]
    told = {**asdict(replace(one, columns={}, points=(), near=())), "columns": one.columns, "points": points}
    return canvas("memory", label, {**told, "states": BLOCKS}, LEGEND, ["address"] if points else [])
