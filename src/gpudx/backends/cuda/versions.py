"""Versions of the driver and of the runtime library, as (major, minor).

A runtime works with every driver of its major version or of a later one (CUDA Compatibility, "Minor Version Compatibility").
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

RUNTIME = re.compile(r"libcudart(?:-[0-9a-f]+)?\.so\.(\d+)(?:\.(\d+))?.*")


def driver(device: Mapping[str, int]) -> tuple[int, int] | None:
    """What cuDriverGetVersion said: 1000 * major + 10 * minor."""
    number = device.get("driver_version", 0)
    return (number // 1000, number % 1000 // 10) if number else None


def runtime(path: str) -> tuple[int, int] | None:
    """By the name of the file; None for others."""
    match = RUNTIME.fullmatch(os.path.basename(path))
    return (int(match[1]), int(match[2] or 0)) if match else None
