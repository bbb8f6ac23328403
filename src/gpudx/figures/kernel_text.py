"""The text of a kernel's program, as the program gave it to the driver and the trace kept it."""

from __future__ import annotations

from pathlib import Path

from gpudx.facts import derive
from gpudx.model import Case
from gpudx.trace import open_traces

TRACES = "traces"
MOST_RUNS = 3  # that are looked into: the runs of an investigation are of one program


def of(case: Case, kernel: str) -> list[str]:
    """Its lines; none where no trace has such a text. An investigation has a trace for each of its runs."""
    place = Path(case.directory)
    folders = [place / TRACES, *sorted(place.glob(f"runs/*/{TRACES}"))[:MOST_RUNS]]
    for trace in (one for folder in folders if folder.is_dir() for one in open_traces(folder)[0]):
        kernels = derive(trace).kernels
        for (program, name), infos in kernels.described.items():
            if name == kernel and (text := kernels.source(program, infos[-1].position)):
                return text.expandtabs(4).split("\n")
    return []
