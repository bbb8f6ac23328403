"""Builds the recorder, a fake OpenCL library and small C programs, and runs them with and without the recorder.

Everything is built from the sources of this checkout with `cc`, once per test run.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Literal

from fake_opencl import fake_library
from support.builds import NATIVE, ROOT, WARNINGS, Builds, cc, once
from support.ran import Ran

__all__ = ["NATIVE", "PROGRAMS", "ROOT", "SANITIZERS", "WARNINGS", "Kit", "Ran", "Way", "cc"]

HERE = Path(__file__).resolve().parent
PROGRAMS = HERE / "programs"
# GCC says that TSan does not model fences; the only ones are between a thread and its own signal handlers.
SANITIZERS = {
    "plain": [],
    "address": ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer", "-O1"],
    "thread": ["-fsanitize=thread", "-O1", "-DUNDER_TSAN", "-Wno-tsan"],
}
OURS = ("GPUDX_DIR", "GPUDX_KEEP", "LD_PRELOAD", "OPENCL_LAYERS")

Way = Literal["plain", "symbols", "layer", "linked"]


class Kit(Builds):
    """What tests and benchmarks build from."""

    def __init__(self, folder: Path, shared: Path | None = None) -> None:
        super().__init__(folder, shared)
        self._runs = 0

    @cached_property
    def fake(self) -> Path:
        """The folder of a libOpenCL.so.1 whose functions do next to nothing."""

        def make(place: Path) -> None:
            place.mkdir()
            (place / "fake.c").write_text(fake_library())
            flags = ["-std=gnu11", "-O2", "-fPIC", "-shared", *WARNINGS, "-Wl,-soname,libOpenCL.so.1"]
            cc(*flags, "-I", self.generated, "-o", place / "libOpenCL.so.1", place / "fake.c")
            (place / "libOpenCL.so").symlink_to("libOpenCL.so.1")

        return once(self.shared / "fake-opencl", make)

    # ---- programs ----

    def program(self, source: str | Path, *flags: str, name: str = "") -> Path:
        """A program of programs/, built against the fake OpenCL library."""
        path = source if isinstance(source, Path) else PROGRAMS / f"{source}.c"
        common = ["-std=gnu11", "-O1", "-g", *WARNINGS, "-I", str(self.generated), "-I", str(PROGRAMS)]
        link = ["-L", str(self.fake), f"-Wl,-rpath,{self.fake}", "-lOpenCL", "-ldl", "-lpthread", "-lm"]
        return self.built(name or path.stem, "cc", *common, *flags, path, *link)

    def linked(self, source: str, sanitizer: str = "plain", *link: str) -> Path:
        """A program of programs/ that has the recorder's core inside instead of loading it."""
        flags = ["-std=gnu11", "-O2", "-g", *WARNINGS, *SANITIZERS[sanitizer]]
        core = self.objects(f"core-{sanitizer}", self.core_sources, *flags)
        include = ["-I", NATIVE, "-I", self.generated]
        return self.built(source, "cc", *flags, *include, PROGRAMS / f"{source}.c", *core, *link, "-ldl", "-lpthread")

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
            env["LD_PRELOAD"] = env["OPENCL_LAYERS"] = str(self.recorder)
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
        timeout: float = 240,  # a busy machine is slow, which is no failure
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
