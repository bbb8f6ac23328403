"""Limits the shared memory that each kernel declares; what a launch adds is not counted.

Needs compiler output about kernels, from `gpudx build` or a build log. A kernel without this number fails the gate.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gpudx.gates._judged import Judged
from gpudx.gates._kernels import judge_number
from gpudx.model import Case

KEY = "shared-memory"
EXAMPLE = "49152"


def judge(limit: Any, cases: Sequence[Case], place: Path) -> Judged:
    return judge_number(KEY, limit, cases, lambda build: build.static_shared_bytes, "bytes of shared memory")
