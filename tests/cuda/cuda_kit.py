"""Builds the recorder with its CUDA hooks, the fake driver and small C programs, and runs them with and without it.

Everything is built from the sources of this checkout with `cc`, once per test run. The driver is a fake (fake/): these
tests say that the hooks are right, never that a GPU did anything.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from support import sanitized
from support.builds import LIBRARY_FLAGS, ROOT, WARNINGS, Builds, cc, once
from support.ran import Ran

from gpudx.trace import Trace

__all__ = ["FAKE", "OURS", "PROGRAMS", "ROOT", "WAYS", "Call", "Kit", "Ran", "cc", "decode", "of", "values"]

HERE = Path(__file__).resolve().parent
PROGRAMS = HERE / "programs"
FAKE = HERE / "fake"
WAYS = ("LINKED", "BY_DLSYM", "BY_PROC_ADDRESS")
ASKED = (
    "GPUDX_DIR",
    "GPUDX_KEEP",
    "GPUDX_FENCE",
    "GPUDX_FENCE_ALIGN",
    "GPUDX_FENCE_BUDGET",
    "GPUDX_POISON",
    "GPUDX_WATCH",
    "GPUDX_SERIALISE",
    "GPUDX_HOLD",
    "GPUDX_EDGE",
    "GPUDX_CRUMBS",
)
OURS = (*ASKED, "LD_PRELOAD", "OPENCL_LAYERS", "LD_LIBRARY_PATH")


@dataclass(frozen=True)
class Call:
    """One record, decoded."""

    name: str
    status: int
    flags: int
    context: int
    tid: int
    done: bool
    words: dict[str, int]
    position: int


def decode(trace: Trace) -> list[Call]:
    """All records of a trace, oldest first, and then all stacks."""
    all_of_it = np.arange(len(trace.rows))
    columns = {name: trace.column(name, all_of_it) for name in ("status", "flags", "context", "tid", "end")}
    return [
        Call(
            trace.info(i).name,
            int(columns["status"][i]),
            int(columns["flags"][i]),
            int(columns["context"][i]),
            int(columns["tid"][i]),
            bool(columns["end"][i]),
            trace.record(i),
            i,
        )
        for i in range(len(trace.rows))
    ]


def of(calls: Sequence[Call], *names: str) -> list[Call]:
    return [call for call in calls if call.name in names]


def values(trace: Trace, position: int) -> list[tuple[int, int, bytes]]:
    """(size, flags, bytes) of each argument of the launch at `position`."""
    _, raw = trace.arguments(np.array([position]))
    tail = trace.argument_tail(position)
    found = []
    for row in raw:
        size, at = int(row["size"]), int(row["tail"])
        data = int(row["value"]).to_bytes(8, "little")[:size] if size <= 8 else tail[at : at + size]
        found.append((size, int(row["flags"]), data))
    return found


class Kit(Builds):
    """What the tests build from."""

    def __init__(self, folder: Path, shared: Path | None = None, careful: str = "") -> None:
        """`careful`: the recorder is built with this sanitizer (support/sanitized.py)."""
        super().__init__(folder, shared)
        self.careful = careful
        self._runs = 0

    @cached_property
    def recorder(self) -> Path:
        return sanitized.recorder(self, self.careful) if self.careful else super().recorder

    def inside(self, folder: Path) -> dict[str, str]:
        """The environment in which programs are recorded into `folder`."""
        plain = {"LD_PRELOAD": str(self.recorder)}
        return {"GPUDX_DIR": str(folder)} | (sanitized.inside(self.careful, self.recorder) if self.careful else plain)

    def library(self, source: Path, name: str, *flags: str) -> Path:
        """A shared library `name` in a folder of its own, from one source or from all in a folder."""
        sources = sorted(source.glob("*.c")) if source.is_dir() else [source]
        command = ["cc", *LIBRARY_FLAGS, "-I", str(self.generated), *sources, "-shared", f"-Wl,-soname,{name}"]
        return self.built(name, *command, *flags, "-ldl", "-lpthread")

    @cached_property
    def driver(self) -> Path:
        """The folder of the fake driver. Like NVIDIA's, it binds its own names itself (-Bsymbolic)."""
        place = self.library(FAKE, "libcuda.so.1", "-Wl,-Bsymbolic").parent
        return once(place / "libcuda.so", lambda link: link.symlink_to("libcuda.so.1")).parent

    @cached_property
    def loose_driver(self) -> Path:
        """The same, but its own names could be taken over by another library that defines them."""
        return self.library(FAKE, "libcuda.so.1").parent

    def program(self, source: str, *flags: str, way: str = "BY_DLSYM") -> Path:
        """A program of programs/ that reaches the driver in the given way."""
        path = PROGRAMS / f"{source}.c"
        common = ["-std=gnu11", "-O1", "-g", *WARNINGS, f"-D{way}", "-I", str(self.generated), "-I", str(PROGRAMS)]
        link = ["-L", str(self.driver), "-lcuda"] if way == "LINKED" else []
        return self.built(f"{path.stem}-{way}", "cc", *common, path, *flags, *link, "-ldl", "-lpthread")

    def run(
        self,
        command: Sequence[str | Path],
        recorded: bool = True,
        env: Mapping[str, str] | None = None,
        driver: Path | None = None,
        timeout: float = 240,  # a busy machine is slow, which is no failure
    ) -> Ran:
        """Run a command with or without the recorder, and wait for its end."""
        self._runs += 1
        place = self.folder / f"run-{self._runs}"
        place.mkdir()
        full = {name: value for name, value in os.environ.items() if name not in OURS}
        full["LD_LIBRARY_PATH"] = str(driver or self.driver)
        if recorded:
            full |= self.inside(place)
        done = subprocess.run(
            [str(part) for part in command],
            env={**full, **(env or {})},
            timeout=timeout,
            check=False,
            capture_output=True,
            text=True,
            errors="replace",
        )
        return Ran(done.returncode, done.stdout, done.stderr, place)

    def both(self, command: Sequence[str | Path], env: Mapping[str, str] | None = None) -> tuple[Ran, Ran]:
        """The same command without and with the recorder."""
        return self.run(command, False, env), self.run(command, True, env)
