"""What --sanitize stands for: compute-sanitizer for CUDA; for OpenCL checks inside the kernels, and Oclgrind if asked for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpudx.errors import UserError

if TYPE_CHECKING:
    from gpudx.model.how import KernelChecks, Sanitizer, Simulator

AUTOMATIC, OCLGRIND = "what-fits", "oclgrind"


@dataclass(frozen=True)
class Chosen:
    sanitizer: Sanitizer | None = None
    kernel_checks: KernelChecks | None = None
    second: Simulator | None = None  # another run on it gives a second opinion


def choose(text: str | None, kernel: str | None, dump: bool, program: Path) -> Chosen:
    """The tools, found before anything is run."""
    from gpudx.lab import kernel_checked, sanitized, simulated

    if text is None and kernel:
        raise UserError("--kernel works only with --sanitize: add --sanitize.")
    if text is None:
        return Chosen()
    if dump:
        raise UserError("--dump and --sanitize exclude each other: the driver writes no core dumps under the tool.")
    if text == AUTOMATIC:
        return _fitting(kernel, program)
    if text == OCLGRIND:
        return Chosen(kernel_checks=kernel_checked.wanted("opencl", kernel), second=simulated.find())
    if kernel_checked.named(text):
        return Chosen(kernel_checks=kernel_checked.wanted(text, kernel))
    return Chosen(sanitizer=sanitized.find(_cuda_check(text), kernel))


def _cuda_check(text: str) -> str:
    from gpudx.backends.cuda.sanitizer import CHECKS
    from gpudx.kernel_checks.checks import ALL

    if text not in CHECKS:
        raise UserError(
            f"There is no check {text!r}: write --sanitize, or --sanitize=CHECK. CUDA has {', '.join(CHECKS)} and ptx; OpenCL has"
            f" oclgrind, opencl (all checks), or some of {','.join(ALL)}."
        )
    return text


def _fitting(kernel: str | None, program: Path) -> Chosen:
    """CUDA's tool where the program looks like CUDA's, or may be and the tool is there; OpenCL's checks wherever they can be."""
    from gpudx.backends.cuda.sanitizer import DEFAULT, kernel_filter
    from gpudx.kernel_checks import syntax
    from gpudx.lab import kernel_checked, sanitized

    kind = looks_like(program)
    if kind == "opencl":
        return Chosen(kernel_checks=kernel_checked.wanted("opencl", kernel))
    checks = kernel_checked.wanted("opencl", kernel) if syntax.available() else None
    if kind == "cuda":
        return Chosen(sanitized.find(DEFAULT, kernel), checks)
    if kernel:
        kernel_filter(kernel)
    try:
        tool = sanitized.find(DEFAULT, kernel)
    except UserError as missing:
        if checks is None:
            raise UserError(f"{syntax.NEEDED} For CUDA programs, {missing}") from None
        tool = None
    return Chosen(tool, checks)


def looks_like(program: Path) -> str:
    """ "cuda" or "opencl" if the file says so, "" if it does not."""
    from elftools.common.exceptions import ELFError
    from elftools.elf.elffile import ELFFile

    try:
        with program.open("rb") as file:
            elf = ELFFile(file)
            if elf.get_section_by_name(".nv_fatbin") is not None:
                return "cuda"
            dynamic: Any = elf.get_section_by_name(".dynamic")
            needed = [tag.needed for tag in dynamic.iter_tags("DT_NEEDED")] if dynamic is not None else []
    except (OSError, ELFError):
        return ""
    if any(name.startswith(("libcuda.so", "libcudart.so", "libnvrtc.so")) for name in needed):
        return "cuda"
    return "opencl" if any(name.startswith("libOpenCL.so") for name in needed) else ""
