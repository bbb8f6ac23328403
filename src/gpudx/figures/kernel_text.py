"""The text of a kernel's program, as the program gave it to the driver and the trace kept it."""

from __future__ import annotations

from pathlib import Path

from gpudx.facts import derive
from gpudx.model import Case
from gpudx.trace import open_traces


def of(case: Case, kernel: str) -> list[str]:
    """Its lines; none where the trace has no such text."""
    traces, _ = open_traces(Path(case.directory) / "traces")
    for trace in traces:
        kernels = derive(trace).kernels
        for (program, name), infos in kernels.described.items():
            if name == kernel and (text := kernels.source(program, infos[-1].position)):
                return text.expandtabs(4).split("\n")
    return []
