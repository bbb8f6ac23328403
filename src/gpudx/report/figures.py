"""The wording of what the traces give: the guilty call decoded, its source, the timeline, the map of memory, the files."""

from __future__ import annotations

from collections.abc import Iterator

from gpudx.model import Drawing
from gpudx.model.drawing import ARGUMENTS, NEAR, Excerpt, MemoryMap, Timeline
from gpudx.report.blocks import Block, Bullets, Code, Paragraph, Picture, Rows, Section, Table
from gpudx.text import plural

TIMES = (
    "Calls by queue and by thread, at the time of the call; when the device executed them is not recorded. "
    "Drag to move. Zoom with two fingers, with the keys + and -, or, after a click, with the wheel. "
    "Shift with an arrow key goes from call to call."
)
ORDER = "Blocks are in the order of their addresses, not to scale."
MADE = "This API gives no addresses: blocks are shown in the order in which they were created."


def guilty(drawing: Drawing | None) -> Iterator[Section]:
    """The call that did it, and its source."""
    call = drawing.guilty if drawing else None
    if call:
        given: tuple[Block, ...] = (Table(ARGUMENTS, call.arguments),) if call.arguments else ()
        heading = "The launch and its arguments" if call.arguments else "What the call was passed"
        yield Section(heading, (Rows(call.values), *given))
    if drawing and drawing.excerpt:
        yield Section("The source", tuple(_source(drawing.excerpt)))
    if drawing and drawing.kernel and (drawing.excerpt is None or drawing.kernel.place != drawing.excerpt.place):
        yield Section("The kernel", tuple(_source(drawing.kernel)))


def _source(excerpt: Excerpt) -> Iterator[Block]:
    yield Paragraph(f"{excerpt.place}{', changed after the run' if excerpt.changed else ''}:")
    width = len(str(excerpt.first + len(excerpt.lines)))
    numbered = enumerate(excerpt.lines, start=excerpt.first)
    yield Code(tuple(f"{'>' if n == excerpt.line else ' '} {n:>{width}}  {line}" for n, line in numbered))


def pictures(drawing: Drawing | None) -> Iterator[Section]:
    """When it happened, and where."""
    if drawing is None:
        return
    remarks = tuple(map(Paragraph, drawing.remarks))
    if drawing.timelines or remarks:
        drawn = (Picture("timeline", _times(drawing.timelines)),) if drawing.timelines else ()
        yield Section("When it happened", (*drawn, *remarks))
    if drawing.maps:
        tables = (Table(NEAR, one.near) for one in drawing.maps if one.near)
        texts = (Paragraph(text) for one in drawing.maps for text in _unsaid(one))
        yield Section("Device memory", (Picture("memory_map", _memory(drawing.maps)), *texts, *tables))


def _times(lines: tuple[Timeline, ...]) -> str:
    left = sum(one.left_out for one in lines)
    merged = max(one.merged for one in lines)
    more = f" Not drawn: {plural(left, 'call')} that only synchronize queues." if left else ""
    few = f" Up to {merged} neighbouring calls of a queue are drawn as one." if merged > 1 else ""
    return f"{TIMES}{more}{few}"


def _memory(maps: tuple[MemoryMap, ...]) -> str:
    order = " ".join(dict.fromkeys(ORDER if one.by_address else MADE for one in maps))
    calls = " and ".join(f"call {one.as_of:,}" + (f" of process {one.pid}" if len(maps) > 1 else "") for one in maps)
    return f"The program's memory at {calls}. {order}"


def _unsaid(one: MemoryMap) -> Iterator[str]:
    """What the map does not show."""
    if one.not_placed:
        why = "lies near none of these blocks" if one.by_address else "cannot be placed among these blocks"
        yield f"The fault address {one.not_placed} {why}."
    if one.left_out:
        yield f"{plural(one.left_out, 'block')} not drawn: those freed longest ago, and small ones."


def files(drawing: Drawing | None) -> tuple[Block, ...]:
    """The files of the case, to be opened."""
    return (Bullets(drawing.files, files=drawing.files),) if drawing and drawing.files else ()
