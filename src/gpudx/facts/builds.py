"""Builds of kernels that failed: what the driver's compiler said, and the line of the source that it said it of."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from gpudx.backends.tool import BuildError
from gpudx.facts._backend import backend_module
from gpudx.facts.kernels import Kernels
from gpudx.trace import Trace

LONGEST = 200
NAME = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True)
class Refusal:
    """One failed build."""

    options: str
    options_refused: bool  # the options were the reason
    log: tuple[str, ...]  # its lines, without empty ones
    error: BuildError | None
    text: str = ""  # the line of the program's source that the error names
    more: int = 0  # errors behind the first
    macro: str = ""  # the option that defines the name that the error is at: "-DTHRESHOLD=2f"


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
    source = kernels.source(program, position).split("\n") if error and not error.file else []
    line = source[error.line - 1] if error and 0 < error.line <= len(source) else ""
    text, macro = line.expandtabs(4).strip()[:LONGEST], _macro(line, error.column, options) if error else ""
    lines = tuple(line.rstrip() for line in log.splitlines() if line.strip())
    return Refusal(options, status in reader.REFUSED_OPTIONS, lines, error, text, max(reader.errors(log) - 1, 0), macro)


def _log(trace: Trace, program: int, position: int) -> str:
    """The note that follows the call, of the first device that has something to say."""
    notes = (int(at) for at in trace.named("note_build_log") if at > position)
    texts = (trace.text(at) for at in notes if trace.record(at)["program"] == program)
    return next((text for text in texts if text.strip()), "")


def _macro(line: str, column: int, options: str) -> str:
    """The option that defines the name at a column (from 1); "" where it is none's."""
    name = next((found[0] for found in NAME.finditer(line) if found.start() < column <= found.end()), "")
    defined = re.search(rf"-D\s*({re.escape(name)}(?:=(?:\"[^\"]*\"|\S*))?)(?=\s|$)", options) if name else None
    return f"-D{defined[1]}" if defined else ""
