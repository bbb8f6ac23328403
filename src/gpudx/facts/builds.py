"""Builds of kernels that failed: what the driver's compiler said, and the line of the source that it said it of."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpudx.backends.tool import BuildError
from gpudx.facts._backend import backend_module
from gpudx.facts.kernels import Kernels
from gpudx.trace import Trace

LONGEST = 200


@dataclass(frozen=True)
class Refusal:
    """One failed build."""

    options: str
    options_refused: bool  # the options were the reason
    log: tuple[str, ...]  # its lines, without empty ones
    error: BuildError | None
    text: str = ""  # the line of the program's source that the error names
    more: int = 0  # errors behind the first


def refusal(trace: Trace, kernels: Kernels, position: int) -> Refusal | None:
    """The failed build at a position; None where its backend reads no build logs."""
    reader = backend_module(trace.info(position).api, "build_log")
    if reader is None:
        return None
    program = trace.record(position).get("program", 0)
    options = trace.array(position, "options").decode(errors="replace").strip("\0 ")
    status = int(trace.column("status", np.array([position]))[0])
    log = _log(trace, program, position)
    error: BuildError | None = reader.first_error(log)
    source = kernels.source(program, position).expandtabs(4).split("\n") if error and not error.file else []
    text = source[error.line - 1].strip()[:LONGEST] if error and 0 < error.line <= len(source) else ""
    lines = tuple(line.rstrip() for line in log.splitlines() if line.strip())
    return Refusal(options, status in reader.REFUSED_OPTIONS, lines, error, text, max(reader.errors(log) - 1, 0))


def _log(trace: Trace, program: int, position: int) -> str:
    """The note that follows the call, of the first device that has something to say."""
    notes = (int(at) for at in trace.named("note_build_log") if at > position)
    texts = (trace.text(at) for at in notes if trace.record(at)["program"] == program)
    return next((text for text in texts if text.strip()), "")
