"""Builds the recorder, a fake OpenCL library and small C programs, and runs them with and without the recorder.

Everything is built from the sources of this checkout with `cc`, into one folder, once per Kit.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

from fake_opencl import fake_library

from gpudx.trace import Trace, open_trace

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
NATIVE = ROOT / "native"
PROGRAMS = HERE / "programs"
WARNINGS = ["-Wall", "-Wextra", "-Werror"]
LIBRARY_FLAGS = ["-std=gnu11", "-O2", "-g", "-fPIC", "-fvisibility=hidden", *WARNINGS]
LINK_FLAGS = ["-shared", "-Wl,-z,nodelete,-z,now"]
# GCC says that TSan does not model fences; the only ones are between a thread and its own signal handlers.
SANITIZERS = {
    "plain": [],
    "address": ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer", "-O1"],
    "thread": ["-fsanitize=thread", "-O1", "-DUNDER_TSAN", "-Wno-tsan"],
}
OURS = ("GPUDX_DIR", "GPUDX_KEEP", "LD_PRELOAD", "OPENCL_LAYERS")

Way = Literal["plain", "symbols", "layer", "linked"]


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
        """All traces, oldest process first."""
        found = [open_trace(path) for path in sorted(self.folder.glob("*.gdx"))]
        return sorted(found, key=lambda trace: int(trace.header["start_mono_ns"]))

    def trace(self) -> Trace:
        """The one trace of the run."""
        (only,) = self.traces()
        return only


def cc(*arguments: str | Path) -> None:
    """Run the compiler; what it says is shown when it fails."""
    done = subprocess.run(["cc", *map(str, arguments)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"cc {' '.join(map(str, arguments))}\n{done.stderr}"


class Kit:
    """What tests and benchmarks build from; `folder` holds the results."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._runs = 0

    @cached_property
    def generated(self) -> Path:
        """What tools/generate.py makes, with our OpenCL header as CL/cl.h."""
        out = self.folder / "generated"
        subprocess.run([sys.executable, ROOT / "tools/generate.py", ROOT / "schema", out], check=True)
        (out / "CL").mkdir(exist_ok=True)
        if (out / "cl.h").exists():
            shutil.copy(out / "cl.h", out / "CL/cl.h")
        return out

    @property
    def core_sources(self) -> list[Path]:
        return [*sorted((NATIVE / "core").glob("*.c")), self.generated / "gdx_schema.c"]

    @cached_property
    def _objects(self) -> dict[str, Path]:
        """All object files of the library by their sources' names, "opencl/symbols"."""
        sources = [path for path in NATIVE.glob("*/*.c") if path.parent.name != "core"]
        sources += [*self.core_sources, *self.generated.glob("*_wrappers.c"), self.generated / "cl_exports.c"]
        place = self.folder / "objects"
        place.mkdir()

        def compile_one(source: Path) -> tuple[str, Path]:
            name = f"{source.parent.name}/{source.stem}"
            target = place / (name.replace("/", "-") + ".o")
            cc(*LIBRARY_FLAGS, "-I", NATIVE, "-I", self.generated, "-c", "-o", target, source)
            return name, target

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            return dict(pool.map(compile_one, sources))

    @cached_property
    def layer(self) -> Path:
        """libgpudx.so: preloaded, and an OpenCL layer."""
        target = self.folder / "libgpudx.so"
        objects = [
            path for name, path in self._objects.items() if name not in ("opencl/symbols", "generated/cl_exports")
        ]
        cc(*LINK_FLAGS, "-o", target, *objects, "-ldl", "-lpthread")
        return target

    @cached_property
    def symbols(self) -> Path:
        """libgpudx-opencl.so: preloaded, with the OpenCL functions as its symbols."""
        target = self.folder / "libgpudx-opencl.so"
        cc(*LINK_FLAGS, "-o", target, *self._objects.values(), "-ldl", "-lpthread")
        return target

    @cached_property
    def fake(self) -> Path:
        """The folder of a libOpenCL.so.1 whose functions do next to nothing."""
        place = self.folder / "fake"
        place.mkdir()
        (place / "fake.c").write_text(fake_library())
        flags = ["-std=gnu11", "-O2", "-fPIC", "-shared", *WARNINGS, "-Wl,-soname,libOpenCL.so.1"]
        cc(*flags, "-I", self.generated, "-o", place / "libOpenCL.so.1", place / "fake.c")
        (place / "libOpenCL.so").symlink_to("libOpenCL.so.1")
        return place

    # ---- programs ----

    def program(self, source: str | Path, *flags: str, name: str = "", opencl: Path | None = None) -> Path:
        """A program of programs/, built against the fake OpenCL library (or the one in `opencl`)."""
        path = source if isinstance(source, Path) else PROGRAMS / f"{source}.c"
        target = self.folder / (name or path.stem)
        if target.exists():
            return target
        place = opencl or self.fake
        common = ["-std=gnu11", "-O1", "-g", *WARNINGS, "-I", str(self.generated), "-I", str(PROGRAMS)]
        link = ["-L", str(place), f"-Wl,-rpath,{place}", "-lOpenCL", "-ldl", "-lpthread", "-lm"]
        cc(*common, *flags, "-o", target, path, *link)
        return target

    def linked(self, source: str, *flags: str, name: str = "") -> Path:
        """A program of programs/ that has the recorder's core inside instead of loading it."""
        target = self.folder / (name or source)
        if target.exists():
            return target
        common = ["-std=gnu11", "-O2", "-g", *WARNINGS, "-I", str(NATIVE), "-I", str(self.generated)]
        cc(*common, *flags, "-o", target, PROGRAMS / f"{source}.c", *self.core_sources, "-ldl", "-lpthread")
        return target

    # ---- running ----

    def environment(self, way: Way, folder: Path, keep: str = "") -> dict[str, str]:
        """The environment of a run that records into `folder`."""
        env = {name: value for name, value in os.environ.items() if name not in OURS}
        if way == "plain":
            return env
        env["GPUDX_DIR"] = str(folder)
        if keep:
            env["GPUDX_KEEP"] = keep
        if way == "layer":
            env["LD_PRELOAD"] = env["OPENCL_LAYERS"] = str(self.layer)
        if way == "symbols":
            env["LD_PRELOAD"] = str(self.symbols)
        return env

    def run(
        self,
        command: Sequence[str | Path],
        way: Way,
        *,
        keep: str = "",
        env: Mapping[str, str] | None = None,
        timeout: float = 60,
        folder: Path | None = None,
    ) -> Ran:
        """Run a command and wait for its end."""
        self._runs += 1
        place = folder or self.folder / f"run-{self._runs}"
        place.mkdir(exist_ok=True)
        full = {**self.environment(way, place, keep), **(env or {})}
        done = subprocess.run(
            [str(part) for part in command],
            env=full,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout,
            check=False,
            cwd=self.folder,
        )
        return Ran(done.returncode, done.stdout, done.stderr, place)

    def both(
        self, command: Sequence[str | Path], *, keep: str = "", env: Mapping[str, str] | None = None
    ) -> tuple[Ran, Ran]:
        """The same command without and with the recorder."""
        return self.run(command, "plain", env=env), self.run(command, "symbols", keep=keep, env=env)
