"""Running a program whose kernels check themselves: the process that rewrites them, beside the program."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from gpudx.errors import UserError
from gpudx.kernel_checks.checks import ALL, USUAL
from gpudx.model.how import KernelChecks

FOLDER = "kernel-checks"  # in the case directory
SOCKET = "GPUDX_CHECKS"  # native/opencl/checks_service.c
PTX_SOCKET = "GPUDX_PTX_CHECKS"  # native/cuda/ptx_checks.c
TYPES_SOCKET = "GPUDX_NAN_TYPES"  # native/cuda/nan.c
PTX: Final = "ptx"
TYPES = KernelChecks(frozenset(), language="types")  # asked for by the scan for the first NaN
FROM_SOURCE = "PYOPENCL_NO_CACHE"  # PyOpenCL keeps binaries of earlier builds, which cannot be checked
STARTS_S = 60.0  # a busy machine takes its time; a process that has ended is not waited for


def wanted(text: str, kernel: str | None = None) -> KernelChecks:
    """The checks that "opencl", "ptx", or names with commas between them, stand for."""
    if text == PTX or text.startswith(f"{PTX}:"):
        from gpudx.ptx_checks.rewrite import CHECKS as PTX_CHECKS

        return KernelChecks(
            frozenset(text.removeprefix(PTX).lstrip(":").split(",")) - {""} or frozenset(PTX_CHECKS), kernel, PTX
        )
    from gpudx.kernel_checks import syntax

    syntax.need()
    if text == "opencl":
        return KernelChecks(USUAL, kernel)
    return KernelChecks(frozenset(text.split(",")), kernel, named=text)


def named(text: str) -> bool:
    """Is this a choice of checks inside kernels?"""
    return text in ("opencl", PTX) or all(word in ALL for word in text.split(","))


@contextlib.contextmanager
def service(wanted: KernelChecks | None, case_dir: Path) -> Iterator[Mapping[str, str]]:
    """The process, for as long as the program runs; its variable for the program."""
    if wanted is None:
        yield {}
        return
    room = Path(tempfile.mkdtemp(prefix="gpudx-"))
    path = room / "socket"
    folder = case_dir / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    process = _start(path, folder, wanted)
    try:
        _wait(process, path)
        variables = {PTX: {PTX_SOCKET: str(path)}, "types": {TYPES_SOCKET: str(path)}}
        yield variables.get(wanted.language, {SOCKET: str(path), FROM_SOURCE: "1"})
    finally:
        process.terminate()
        process.wait()
        shutil.rmtree(room, ignore_errors=True)


def _start(path: Path, folder: Path, wanted: KernelChecks) -> subprocess.Popen[bytes]:
    words = [
        wanted.language,
        str(path),
        str(folder.absolute()),
        ",".join(sorted(wanted.checks)),
        *([wanted.kernel] if wanted.kernel else []),
    ]
    package = str(Path(__file__).parents[2])
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH", "")]))}
    with (folder / "service.txt").open("wb") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "gpudx.lab.rewriting_service", *words],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=env,
            start_new_session=True,  # signals of the terminal are the program's
        )


def _wait(process: subprocess.Popen[bytes], path: Path) -> None:
    until = time.monotonic() + STARTS_S
    while not path.exists():
        if process.poll() is not None or time.monotonic() > until:
            raise UserError("The process that rewrites kernels did not start: run without --sanitize, and report this.")
        time.sleep(0.01)
