"""What the experiments with compute-sanitizer share."""

from __future__ import annotations

from dataclasses import replace

from gpudx.errors import UserError
from gpudx.lab import sanitized
from gpudx.lab.experiments import Context
from gpudx.model.how import How


def why_missing(context: Context, check: str) -> str | None:
    """Not this API, or not this tool: never "clean"."""
    if "cuda" not in context.apis:
        return "the program makes no CUDA calls"
    try:
        sanitized.find(check)
    except UserError as error:
        return str(error)
    return None


def under(context: Context, check: str) -> How:
    return replace(context.how, sanitizer=sanitized.find(check))
