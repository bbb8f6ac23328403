"""The calls of each process, by queue and by thread."""

from __future__ import annotations

from dataclasses import asdict, replace

from gpudx.model import Case
from gpudx.model.drawing import KINDS, STATES, Timeline
from gpudx.report import Page
from gpudx.report.html.pictures.canvas import canvas
from gpudx.report.safe import clean

LEGEND = (
    ("launch", KINDS[0]), ("copy", KINDS[1]), ("wait", KINDS[2]), ("call", KINDS[3]), ("failed", "failed or in flight"),
    ("guilty", "guilty"), ("victim", "victim"), ("evidence", "other calls of the evidence"),
)  # fmt: skip


def draw(case: Case, page: Page) -> str:
    """One canvas per process."""
    assert page.drawing is not None
    return "".join(_one(line) for line in page.drawing.timelines)


def _one(line: Timeline) -> str:
    roles = {pin.role for pin in line.pins}
    count = len(line.columns["kind"])
    label = f"Timeline of process {line.pid}: {count:,} calls, {len(line.queues)} queues, {len(line.threads)} threads"
    told = {**_plain(line), "kinds": KINDS, "states": STATES}
    return canvas("timeline", label, told, LEGEND, [role for role in ("guilty", "victim") if role in roles])


def _plain(line: Timeline) -> dict[str, object]:
    texts = {name: tuple(map(clean, getattr(line, name))) for name in ("names", "queues", "threads")}
    bare = asdict(replace(line, columns={}, names=(), queues=(), threads=(), command=clean(line.command)))
    return {**bare, **texts, "columns": line.columns}
