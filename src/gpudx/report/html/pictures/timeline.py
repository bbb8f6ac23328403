"""The calls of each process, by queue and by thread."""

from __future__ import annotations

from dataclasses import asdict, replace

from gpudx.model import Case
from gpudx.model.drawing import KINDS, STATES, Timeline
from gpudx.report import Page
from gpudx.report.html.pictures.canvas import canvas
from gpudx.report.html.pictures.words import LEGENDS, OF_CALLS, ROLES, listed, said
from gpudx.report.safe import clean
from gpudx.text import plural

LEGEND = (
    ("launch", KINDS[0]), ("copy", KINDS[1]), ("wait", KINDS[2]), ("call", KINDS[3]), ("failed", LEGENDS[0]),
    ("guilty", ROLES["guilty"]), ("victim", ROLES["victim"]), ("evidence", LEGENDS[1]),
)  # fmt: skip


def draw(case: Case, page: Page) -> str:
    """One canvas per process."""
    assert page.drawing is not None
    return "".join(_one(line, page.language) for line in page.drawing.timelines)


def _one(line: Timeline, language: str) -> str:
    calls, queues, threads = len(line.columns["kind"]), len(line.queues), len(line.threads)
    kind = "stream" if any("stream" in name for name in line.queues) else "queue"
    parts = f"{plural(calls, 'call')}, {plural(queues, kind)}, {plural(threads, 'thread')}"
    label = f"Timeline of process {line.pid}: {parts}"
    words = {"kinds": listed(KINDS, language), "states": listed(STATES, language), "words": said(OF_CALLS, language)}
    pins = [pin.role for pin in line.pins]
    return canvas("timeline", label, _plain(line, language) | words, LEGEND, language, pins, queues + threads)


def _plain(line: Timeline, language: str) -> dict[str, object]:
    lanes = {name: listed(map(clean, getattr(line, name)), language) for name in ("queues", "threads")}
    bare = asdict(replace(line, columns={}, names=(), queues=(), threads=(), command=clean(line.command)))
    return {**bare, **lanes, "names": tuple(map(clean, line.names)), "columns": line.columns}
