"""No kernel has more than so much: shared memory that the kernel declares; what launches add is not in it.

Needs what compilers tell of kernels, from `gpudx build` or a build log. A kernel of which it was not told fails the gate.
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
