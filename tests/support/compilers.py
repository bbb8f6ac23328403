"""Real compilers of device code, where there are some: no GPU is needed to build for one."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from support import builds


def nvcc() -> Path:
    """GPUDX_NVCC, else nvcc of PATH, of the toolkit's folder, or of wheels (nvidia-cuda-nvcc, -crt, -runtime, -cccl, nvidia-nvvm)."""
    wheels = [hit for folder in sys.path for hit in sorted(Path(folder).glob("nvidia/cu*/bin/nvcc"))]
    named = [os.environ.get("GPUDX_NVCC"), shutil.which("nvcc"), "/usr/local/cuda/bin/nvcc", *wheels]
    for one in filter(None, named):
        if os.access(one, os.X_OK):
            return Path(one)
    pytest.skip("needs nvcc: GPUDX_NVCC, PATH, or the wheels nvidia-cuda-nvcc and nvidia-cuda-runtime")


def hipcc() -> Path:
    """hipcc of PATH."""
    found = shutil.which("hipcc")
    if found is None:
        pytest.skip("needs hipcc in PATH")
    return Path(found)


def compiled(name: str, source: str, text: str, *command: str | Path, env: Mapping[str, str] | None = None) -> Path:
    """What a compiler makes of this text, once for all runs; beside it, with the suffix .said, what the compiler said.

    `source` is the name of the file that has the text. Where the compiler refuses, the test is skipped."""
    words = [str(word) for word in command]
    compiler = f"{words[0]} {os.stat(words[0]).st_mtime_ns}"
    key = hashlib.sha256("\0".join((name, source, text, compiler, *words, *(f"{k}={v}" for k, v in (env or {}).items()))).encode())
    place = builds.lasting_folder("compiled") / key.hexdigest()[:16] / name
    said = place.with_suffix(".said")

    def make(target: Path) -> None:
        target.with_name(source).write_text(text)
        call = [*words, source, "-o", name]
        done = subprocess.run(call, cwd=target.parent, env={**os.environ, **(env or {})}, capture_output=True, text=True, timeout=200)
        said.write_text(done.stderr)
        assert not done.returncode, f"{words[0]} cannot build this here: {done.stderr.strip().splitlines()[-1:]}"

    try:
        return builds.once(place, make)
    except AssertionError as refused:
        pytest.skip(str(refused))
