"""Limits what every kernel may use, by the compiler's own numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from gpudx.gates._judged import Judged
from gpudx.gates._kernels import judge_number
from gpudx.model import Case, KernelBuild

NEEDS = "Needs compiler output about kernels, from `gpudx build` or a build log. A kernel without this number fails the gate."


class Limit:
    """A gate on one number of each kernel."""

    def __init__(self, key: str, example: str, text: str, number: Callable[[KernelBuild], int | None], unit: str) -> None:
        self.KEY, self.EXAMPLE, self.__doc__ = key, example, f"{text}\n\n{NEEDS}"
        self._number, self._unit = number, unit

    def judge(self, limit: Any, cases: Sequence[Case], place: Path) -> Judged:
        return judge_number(self.KEY, limit, cases, self._number, self._unit)


ROWS = (
    Limit(
        "registers",
        '{ most = 128, kernel = "gemm*" }',
        "Limits the registers per thread of every kernel.",
        lambda build: build.registers,
        "registers",
    ),
    Limit(
        "shared-memory",
        "49152",
        "Limits the shared memory that each kernel declares; what a launch adds is not counted.",
        lambda build: build.static_shared_bytes,
        "bytes of shared memory",
    ),
    Limit(
        "spills",
        "0",
        "Limits the registers that the compiler spilled to memory, for every kernel.",
        lambda build: build.spill_stores,
        "bytes of spilled registers",
    ),
    Limit(
        "stack",
        "0",
        "Limits the stack per thread of every kernel: arrays with computed indexes and call frames.",
        lambda build: build.stack_bytes,
        "bytes of stack",
    ),
)
