"""Machine code as text, by the vendor's own disassembler."""

from __future__ import annotations

import tempfile
from functools import lru_cache
from pathlib import Path

from gpudx.backends.cuda import TOOLS
from gpudx.backends.hip import TOOLS as HIP_TOOLS
from gpudx.errors import UserError
from gpudx.lab.probe import ask, path_of, paths_of

PATIENCE_S = 3.0
OLDEST = 75  # that nvdisasm 13 knows; the instructions of sm_70 and sm_72 have the same form
OBJDUMP = next(tool for tool in HIP_TOOLS if tool.name == "llvm-objdump")
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


@lru_cache(maxsize=64)
def amd(code_object: bytes, begin: int, end: int) -> str:
    """The listing of some instructions of a code object, from an address to another. UserError: why there is none."""
    programs = sorted(paths_of(OBJDUMP), key=lambda path: "/rocm" not in path)  # ROCm's own knows its chips
    if not programs:
        raise UserError(f"llvm-objdump is not installed, so the faulting instruction was not traced back to an argument: {OBJDUMP.install}")
    problem = ""
    with tempfile.NamedTemporaryFile(prefix="gpudx-code-") as file:
        Path(file.name).write_bytes(code_object)
        for program in programs:
            command = [program, "-d", f"--start-address={begin:#x}", f"--stop-address={end:#x}", file.name]
            answer = ask(command, patience=PATIENCE_S)
            if answer.status == 0 and "<unknown>" not in answer.out:
                return answer.out
            problem = answer.problem or "it does not know all instructions"
    raise UserError(f"{programs[-1]} could not disassemble the kernel ({problem}): {OBJDUMP.install}")
