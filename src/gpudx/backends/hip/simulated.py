"""The simulated HIP runtime, for incidents and tests on machines without an AMD GPU (tests/hip/sim/sim.h)."""

from __future__ import annotations

import os
from pathlib import Path

from gpudx.backends.tool import Simulator

PACKAGED = Path(__file__).resolve().parents[2] / "_hip_sim"
IN_SOURCE_TREE = Path(__file__).resolve().parents[4] / "tests" / "hip" / "sim"
START_MS = "30"  # what an idle device takes to begin: work is given to it faster than that


SHAPE = "GPUDX_HIP_SIM_SHAPE"  # "7": the entries, structures and numbers of HIP 7 instead of 5.2
SHAPES = ("5", "7")


def shape() -> str:
    """The major version of HIP that the simulator is built as. Programs of hipcc 5.2 run on both, as on the real ones."""
    wanted = os.environ.get(SHAPE, SHAPES[0])
    return wanted if wanted in SHAPES else SHAPES[0]


def simulator() -> Simulator | None:
    """The simulator's sources; None where they are not installed."""
    place = PACKAGED if PACKAGED.is_dir() else IN_SOURCE_TREE
    if not place.is_dir():
        return None
    return Simulator(
        sources=place,
        soname="libamdhip64.so.5",
        flags=(
            "-std=gnu11",
            "-D__HIP_PLATFORM_AMD__",
            f"-DSIM_HIP={shape()}",
            "-Wl,-soname,libamdhip64.so.5",
            f"-Wl,--version-script={place / 'versions.map'}",
        ),
        include=place / "include",
        kernels="GPUDX_HIP_SIM_KERNELS",
        environment={"GPUDX_HIP_SIM_DELAY_MS": START_MS},
    )
