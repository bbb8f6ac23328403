"""The bound on resident warps and waves that registers and static shared memory set, per architecture.

NVIDIA: CUDA C++ Programming Guide, "Compute Capabilities", table of technical specifications (resident warps, blocks and
shared memory per multiprocessor; 64 K registers). Registers are given to warps in units of 256 and to four schedulers alike,
shared memory in units of 128 bytes from 8.0 on, where each block takes 1 KB for the system, and of 256 before
(cuda_occupancy.h of the toolkit).

AMD: LLVM's AMDGPU backend (AMDGPUBaseInfo.cpp: total and granule of vector registers, waves per SIMD). Waves of 64 before
gfx10, of 32 after.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from gpudx.model import KernelBuild, Occupancy

REGISTERS, WARP, UNIT, SCHEDULERS = 65536, 32, 256, 4
STATIC_SHARED = 48 << 10  # the most that a block can declare (CUDA C++ Programming Guide, "Shared Memory")
KB = 1 << 10


@dataclass(frozen=True)
class Nvidia:
    """Of one multiprocessor."""

    warps: int
    blocks: int
    shared: int  # KB
    per_block: int  # KB, for launches that ask for it

    def room(self, shared: int, modern: bool) -> int:
        """Blocks that this much static shared memory leaves room for."""
        unit, own = (128, KB) if modern else (256, 0)
        taken = -(-(shared + own) // unit) * unit
        return min(self.blocks, self.shared * KB // taken) if shared else self.blocks


NVIDIA = {
    60: Nvidia(64, 32, 64, 48), 61: Nvidia(64, 32, 96, 48), 70: Nvidia(64, 32, 96, 96), 72: Nvidia(64, 32, 96, 96),
    75: Nvidia(32, 16, 64, 64), 80: Nvidia(64, 32, 164, 163), 86: Nvidia(48, 16, 100, 99), 87: Nvidia(48, 16, 164, 163),
    89: Nvidia(48, 24, 100, 99), 90: Nvidia(64, 32, 228, 227), 100: Nvidia(64, 32, 228, 227),
    103: Nvidia(64, 32, 228, 227), 120: Nvidia(48, 24, 100, 99), 121: Nvidia(48, 24, 100, 99),
}  # fmt: skip


@dataclass(frozen=True)
class Amd:
    """Of one SIMD: vector registers per lane, the unit they are given in, waves at best."""

    registers: int
    unit: int
    waves: int


AMD = {
    "gfx900": Amd(256, 4, 10), "gfx906": Amd(256, 4, 10), "gfx908": Amd(256, 4, 10), "gfx90a": Amd(512, 8, 8),
    "gfx942": Amd(512, 8, 8), "gfx950": Amd(512, 8, 8), "gfx1010": Amd(1024, 8, 20), "gfx1030": Amd(1024, 16, 16),
    "gfx1100": Amd(1536, 24, 16), "gfx1200": Amd(1536, 24, 16), "gfx1201": Amd(1536, 24, 16),
}  # fmt: skip


def nvidia(arch: str) -> tuple[Nvidia, bool] | None:
    """Limits of "sm_90a", and whether it is 8.0 or newer."""
    match = re.match(r"(?:sm|compute)_(\d+)", arch)
    known = NVIDIA.get(int(match[1])) if match else None
    return (known, int(match[1]) >= 80) if match and known else None


def bound(build: KernelBuild) -> Occupancy | None:
    """The bound for a kernel; None where registers or architecture are not known."""
    if not build.registers:
        return None
    if (known := nvidia(build.arch)) is not None:
        per_warp = -(-build.registers * WARP // UNIT) * UNIT
        waves = REGISTERS // SCHEDULERS // per_warp * SCHEDULERS
        shared = build.static_shared_bytes
        return Occupancy(
            min(known[0].warps, waves), known[0].warps, known[0].room(shared, known[1]) if shared else None
        )
    amd = AMD.get(build.arch.split(":")[0])
    if amd is None:
        return None
    taken = -(-build.registers // amd.unit) * amd.unit
    return Occupancy(min(amd.waves, amd.registers // taken), amd.waves, unit="waves")
