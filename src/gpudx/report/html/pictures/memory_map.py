"""Blocks of memory, in order of address."""

from __future__ import annotations

from dataclasses import asdict, replace

from gpudx.model import Case
from gpudx.model.drawing import BLOCKS, MemoryMap
from gpudx.report import Page
from gpudx.report.html.pictures.canvas import canvas
from gpudx.report.html.pictures.words import LEGENDS, OF_BLOCKS, listed, said
from gpudx.report.languages import spoken

CLASSES = ("launch", "freed", "small", "meant")
LEGEND = (*zip(CLASSES, BLOCKS, strict=True), ("guard", LEGENDS[2]), ("victim", LEGENDS[3]))


def draw(case: Case, page: Page) -> str:
    """One canvas per process."""
    assert page.drawing is not None
    return "".join(_one(one, page.language) for one in page.drawing.maps)


def _one(one: MemoryMap, language: str) -> str:
    count = len(one.columns["state"])
    label = f"Memory of process {one.pid} at call {one.as_of:,}: {count:,} blocks"
    points = [
        {"text": spoken(point.text, language), "address": f"{point.address:#x}", "at": point.at} for point in one.points
    ]
    told = {**asdict(replace(one, columns={}, points=(), near=())), "columns": one.columns, "points": points}
    words = {"states": listed(BLOCKS, language), "words": said(OF_BLOCKS, language)}
    lanes = 3 if any(one.columns["part"].data) else 2
    return canvas("memory", label, told | words, LEGEND, language, ["address"] if points else [], lanes)
