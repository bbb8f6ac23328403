"""Reads what other tools wrote, one file per format: dumps, sanitizer output, logs, build output.

A format is a module here with

    a docstring       what writes it, what is read, what is not
    FORMAT            its stable name
    sniff(source)     how sure it is that this is its format, 0 to 1, from the first 64 KB of a text, bytes or a Path
    read(path)        the file as frozen dataclasses; raises UserError and nothing else
    to_findings(...)  what it says, in the model that live runs use

Adding a file adds a format. Logs that people paste hold many formats at once: those are in `logs/`. A tool that did not run is
never a tool that found nothing: every reader tells these apart.
"""

from __future__ import annotations

import importlib
import pkgutil
from types import ModuleType

from gpudx.evidence._head import Source, head_of


def every() -> tuple[ModuleType, ...]:
    """All formats, by name."""
    names = sorted(m.name for m in pkgutil.iter_modules(__path__) if not m.name.startswith("_") and not m.ispkg)
    return tuple(importlib.import_module(f"{__name__}.{name}") for name in names)


def recognise(source: Source) -> tuple[tuple[float, ModuleType], ...]:
    """The formats that a source may be in, the surest first; empty when none knows it. A file may hold several."""
    head = head_of(source)
    rated = [(module.sniff(head), module) for module in every() if hasattr(module, "sniff")]
    return tuple(sorted(((sure, m) for sure, m in rated if sure > 0), key=lambda r: (-r[0], r[1].__name__)))
