"""Machine code as text, by the vendor's own disassembler."""

from __future__ import annotations

import tempfile
from functools import lru_cache
from pathlib import Path

from gpudx.backends.cuda import TOOLS
from gpudx.errors import UserError
from gpudx.lab.probe import ask, path_of

PATIENCE_S = 3.0
OLDEST = 75  # that nvdisasm 13 knows; the instructions of sm_70 and sm_72 have the same form
NVDISASM = next(tool for tool in TOOLS if tool.name == "nvdisasm")


@lru_cache(maxsize=64)
def nvidia(code: bytes, architecture: int) -> str:
    """The listing of some instructions, whose branches have offsets from the first. UserError: why there is none."""
    program = path_of(NVDISASM)
    if program is None:
        raise UserError(f"nvdisasm is not installed, so the faulting instruction was not traced back to an argument: {NVDISASM.install}")
    with tempfile.NamedTemporaryFile(prefix="gpudx-code-") as file:
        Path(file.name).write_bytes(code)
        answer = ask([program, "-b", f"SM{max(architecture, OLDEST)}", file.name], patience=PATIENCE_S)
    if answer.status != 0:
        last = (answer.err.strip().splitlines() or [""])[-1]
        raise UserError(f"{program} could not disassemble the kernel ({answer.problem or last}).")
    return answer.out
