"""Limits the stack per thread of every kernel: arrays with computed indexes and call frames.

Needs compiler output about kernels, from `gpudx build` or a build log. A kernel without this number fails the gate.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gpudx.gates._judged import Judged
from gpudx.gates._kernels import judge_number
from gpudx.model import Case

KEY = "stack"
EXAMPLE = "0"


def judge(limit: Any, cases: Sequence[Case], place: Path) -> Judged:
    return judge_number(KEY, limit, cases, lambda build: build.stack_bytes, "bytes of stack")
