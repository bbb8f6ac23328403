"""Turns the traces of a case into drawings: the timeline, the map of memory.

A trace that is missing or damaged is a remark, never the end of a report.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from gpudx.errors import UserError
from gpudx.facts import Facts, derive
from gpudx.figures import decoded, excerpt, files, memory_map, timeline
from gpudx.figures.accused import NOBODY, Accused, accused_in, same_launch
from gpudx.model import Case, Drawing, ProcessInfo
from gpudx.text import plural
from gpudx.trace import open_trace

MOST_PROCESSES = 8
MOST_ROWS = 1_000_000  # of all timelines together


def draw(case: Case) -> Drawing:
    """The drawing of a case, from the files in its directory."""
    accused = accused_in(case)
    processes = sorted(case.processes, key=lambda p: (p.pid != accused.pid, -p.calls))
    shown = processes[:MOST_PROCESSES]
    made = [_of_process(case, process, accused, MOST_ROWS // len(shown)) for process in shown]
    more = len(processes) - len(shown)
    whole = Drawing(
        excerpt=excerpt.of(case),
        kernel=excerpt.of_kernel(case),
        files=files.of(case),
        remarks=(f"{plural(more, 'more process', 'more processes')} not drawn.",) if more else (),
    )
    return replace(
        whole,
        timelines=tuple(line for one in made for line in one.timelines),
        maps=tuple(one_map for one in made for one_map in one.maps),
        guilty=next((one.guilty for one in made if one.guilty), None),
        devices=tuple(dict.fromkeys(name for one in made for name in one.devices)),
        remarks=(*(text for one in made for text in one.remarks), *whole.remarks),
    )


def _of_process(case: Case, process: ProcessInfo, accused: Accused, rows: int) -> Drawing:
    """The part of one process. Whatever is wrong with its trace, the rest of the report is worth having."""
    try:
        facts = _open(case, process)
        if accused == NOBODY and len(case.processes) == 1:
            accused = same_launch(case, facts)
        line, one_map = timeline.of(facts, accused, rows), memory_map.of(facts, accused)
        guilty = decoded.of(facts, accused) if facts.trace.pid == accused.pid else None
        names = tuple(dict.fromkeys(device.name for device in facts.kernels.devices.values() if device.name))
        return Drawing((line,) if line else (), (one_map,) if one_map else (), guilty, devices=names)
    except UserError as error:
        return Drawing(remarks=(f"Process {process.pid} is not drawn: {error}",))
    except Exception as error:
        return Drawing(remarks=(f"Process {process.pid} is not drawn: {type(error).__name__}: {error}",))


def _open(case: Case, process: ProcessInfo) -> Facts:
    place = (Path(case.directory) / process.trace).resolve()
    if not place.is_relative_to(Path(case.directory).resolve()):
        raise UserError(f"its trace {process.trace} is not in the case.")
    return derive(open_trace(place))
