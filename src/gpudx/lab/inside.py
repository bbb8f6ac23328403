"""gpudx's code inside Python programs (gpudx/preload_python): which parts of it a run needs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from gpudx.lab.environment import prepend

FOLDER = Path(__file__).resolve().parents[1] / "preload_python"
VARIABLE = "GPUDX_INSIDE"
POOLS, WORDS, INDICES = "pools", "words", "indices"  # as sitecustomize.py there calls them


def environment(base: Mapping[str, str], *parts: str) -> dict[str, str]:
    """The variables for these parts, beside those that are on already."""
    if not parts:
        return {}
    known = [part for part in base.get(VARIABLE, "").split(",") if part]
    return {
        VARIABLE: ",".join(dict.fromkeys([*known, *parts])),
        "PYTHONPATH": prepend(str(FOLDER), base.get("PYTHONPATH", "")),
    }
