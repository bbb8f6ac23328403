"""Builds the recorder with its CUDA hooks, the fake driver and small C programs, and runs them with and without it.

Everything is built from the sources of this checkout with `cc`, once per Kit. The driver is a fake (fake_cuda.c): these
tests say that the hooks are right, never that a GPU did anything.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from support import sanitized

from gpudx.trace import Trace, open_trace

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
NATIVE = ROOT / "native"
PROGRAMS = HERE / "programs"
WARNINGS = ["-Wall", "-Wextra", "-Werror"]
LIBRARY_FLAGS = ["-std=gnu11", "-O2", "-g", "-fPIC", "-fvisibility=hidden", *WARNINGS]
WAYS = ("LINKED", "BY_DLSYM", "BY_PROC_ADDRESS")
ASKED = (
    "GPUDX_DIR",
    "GPUDX_KEEP",
    "GPUDX_FENCE",
    "GPUDX_FENCE_ALIGN",
    "GPUDX_POISON",
    "GPUDX_WATCH",
    "GPUDX_SERIALISE",
    "GPUDX_HOLD",
    "GPUDX_EDGE",
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


@dataclass(frozen=True)
class Ran:
    """How one run ended, and where its traces are."""

    returncode: int
    stdout: str
    stderr: str
    folder: Path

    @property
    def seen(self) -> tuple[int, str, str]:
        """What the user of the program sees of it."""
        return self.returncode, self.stdout, self.stderr

    def traces(self) -> list[Trace]:
        found = [open_trace(path) for path in sorted(self.folder.glob("*.gdx"))]
        return sorted(found, key=lambda trace: int(trace.header["start_mono_ns"]))

    def trace(self) -> Trace:
        (only,) = self.traces()
        return only


def decode(trace: Trace) -> list[Call]:
    """All records of a trace, oldest first."""
    columns = {name: trace.column(name) for name in ("status", "flags", "context", "tid", "end")}
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
        for i in range(len(trace))
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


def cc(*arguments: str | Path) -> None:
    """Run the compiler; what it says is shown when it fails."""
    done = subprocess.run(["cc", *map(str, arguments)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"cc {' '.join(map(str, arguments))}\n{done.stderr}"


class Kit:
    """What the tests build from; `folder` holds the results. `careful`: the recorder is built with sanitizers."""

    def __init__(self, folder: Path, careful: bool = False) -> None:
        self.folder = folder
        self.careful = careful
        self._runs = 0

    @cached_property
    def generated(self) -> Path:
        out = self.folder / "generated"
        subprocess.run([sys.executable, ROOT / "tools/generate.py", ROOT / "schema", out], check=True)
        return out

    @cached_property
    def recorder(self) -> Path:
        """libgpudx.so."""
        made = self.generated
        sources = [s for s in NATIVE.glob("*/*.c") if s != NATIVE / "opencl/symbols.c"]
        sources += [made / "gdx_schema.c", *made.glob("*_wrappers.c")]
        place = self.folder / "objects"
        place.mkdir()
        more = sanitized.FLAGS if self.careful else ()
        flags = [*LIBRARY_FLAGS, *more, "-I", str(NATIVE), "-I", str(made)]

        def compile_one(source: Path) -> Path:
            target = place / f"{source.parent.name}-{source.stem}.o"
            cc(*flags, "-c", "-o", target, source)
            return target

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            objects = list(pool.map(compile_one, sources))
        if self.careful:
            objects.append(sanitized.with_early_dlsym(place / "driver-lookup.o"))
        target = self.folder / "libgpudx.so"
        cc("-shared", *more, "-Wl,-z,nodelete,-z,now", "-o", target, *objects, "-ldl", "-lpthread")
        return target

    def inside(self, folder: Path) -> dict[str, str]:
        """The environment in which programs are recorded into `folder`."""
        preload = f"{sanitized.library()} {self.recorder}" if self.careful else str(self.recorder)
        return {"GPUDX_DIR": str(folder), "LD_PRELOAD": preload, **(sanitized.ENVIRONMENT if self.careful else {})}

    def library(self, source: Path, name: str, *flags: str, folder: str = "", soname: str = "") -> Path:
        """A shared library `name` in a folder of its own."""
        place = self.folder / (folder or name)
        place.mkdir(exist_ok=True)
        target = place / name
        if not target.exists():
            link = ["-shared", f"-Wl,-soname,{soname or name}", *flags, "-ldl", "-lpthread"]
            cc(*LIBRARY_FLAGS, "-I", str(self.generated), "-o", target, source, *link)
        return target

    @cached_property
    def driver(self) -> Path:
        """The folder of the fake driver. Like NVIDIA's, it binds its own names itself (-Bsymbolic)."""
        place = self.library(HERE / "fake_cuda.c", "libcuda.so.1", "-Wl,-Bsymbolic", folder="driver").parent
        if not (place / "libcuda.so").exists():
            (place / "libcuda.so").symlink_to("libcuda.so.1")
        return place

    @cached_property
    def loose_driver(self) -> Path:
        """The same, but its own names could be taken over by another library that defines them."""
        return self.library(HERE / "fake_cuda.c", "libcuda.so.1", folder="loose-driver").parent

    def program(self, source: str, *flags: str, way: str = "BY_DLSYM", name: str = "") -> Path:
        """A program of programs/ that reaches the driver in the given way."""
        target = self.folder / (name or f"{source}-{way}")
        if not target.exists():
            link = ["-L", str(self.driver), "-lcuda"] if way == "LINKED" else []
            cc(
                "-std=gnu11",
                "-O1",
                "-g",
                *WARNINGS,
                f"-D{way}",
                "-I",
                str(self.generated),
                "-I",
                str(PROGRAMS),
                "-o",
                target,
                PROGRAMS / f"{source}.c",
                *flags,
                *link,
                "-ldl",
                "-lpthread",
            )
        return target

    def run(
        self,
        command: Sequence[str | Path],
        recorded: bool = True,
        env: Mapping[str, str] | None = None,
        driver: Path | None = None,
        timeout: float = 60,
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
