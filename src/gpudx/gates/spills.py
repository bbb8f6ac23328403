"""Limits the registers that the compiler spilled to memory, for every kernel.

Needs compiler output about kernels, from `gpudx build` or a build log. A kernel without this number fails the gate.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gpudx.gates._judged import Judged
from gpudx.gates._kernels import judge_number
from gpudx.model import Case

KEY = "spills"
EXAMPLE = "0"


def judge(limit: Any, cases: Sequence[Case], place: Path) -> Judged:
    return judge_number(KEY, limit, cases, lambda build: build.spill_stores, "bytes of registers in memory")
