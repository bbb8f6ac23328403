"""Core dumps of the device: asked for by variables, triggered at a hang, awaited.

Memory contents are left out: the record has the arguments, and collecting memory takes long. The variables are those of
the CUDA toolkit's documentation ("GPU core dump support"); a user who set them keeps his own.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Mapping
from pathlib import Path

from gpudx.elf.header import is_complete

ENABLE = "CUDA_ENABLE_COREDUMP_ON_EXCEPTION"
FOLDER = "GPUDX_DUMPS"  # native/cuda/dump.c waits for dumps in this folder only
SUFFIX = ".nvcudmp"
LEFT_OUT = "skip_abort,skip_global_memory,skip_shared_memory,skip_local_memory"
LONGEST_WAIT_S = 30.0
STALLS_S = 8.0  # a dump that has not grown for so long is not being written
# The driver ends the program when the dump is whole: for experiments, in which the program's own ending does not matter. Without
# skip_abort four of four faulting programs left complete dumps; with it three of ten were cut off by the program's end.
ABORTING = {"CUDA_COREDUMP_GENERATION_FLAGS": "skip_global_memory,skip_shared_memory,skip_local_memory"}


def settings(folder: Path, base: Mapping[str, str]) -> dict[str, str]:
    """The variables that make the driver write a dump per failing process into `folder`, and one where we ask for it."""
    if ENABLE in base:
        return {}
    return {
        ENABLE: "1",
        "CUDA_COREDUMP_FILE": f"{folder}/%p{SUFFIX}",
        "CUDA_COREDUMP_GENERATION_FLAGS": LEFT_OUT,
        "CUDA_ENABLE_USER_TRIGGERED_COREDUMP": "1",
        "CUDA_COREDUMP_PIPE": f"{folder}/pipe-%p",
        FOLDER: str(folder),
    }


def snapshot(folder: Path) -> list[Path]:
    """Makes each living process that offers it write a dump now, and waits until the dumps are whole."""
    asked = [path for path in sorted(folder.glob("pipe-*")) if _trigger(path)]
    wanted = [folder / (path.name.removeprefix("pipe-") + SUFFIX) for path in asked]
    began = grew = time.monotonic()
    sizes: list[int] = []
    while time.monotonic() < min(began + LONGEST_WAIT_S, grew + STALLS_S) and not all(map(is_complete, wanted)):
        if sizes != (now := [path.stat().st_size if path.exists() else 0 for path in wanted]):
            sizes, grew = now, time.monotonic()
        time.sleep(0.05)
    return [path for path in wanted if is_complete(path)]


def _trigger(pipe: Path) -> bool:
    """Any byte will do. A pipe nobody listens to belongs to a process that has ended."""
    with contextlib.suppress(OSError):
        descriptor = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
        try:
            return os.write(descriptor, b"1") == 1
        finally:
            os.close(descriptor)
    return False
