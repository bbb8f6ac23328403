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
from support.builds import NATIVE, ROOT, SANITIZERS, WARNINGS, Builds, cc, once
from support.ran import Ran

__all__ = ["NATIVE", "PROGRAMS", "ROOT", "SANITIZERS", "WARNINGS", "Kit", "Ran", "Way", "cc"]

HERE = Path(__file__).resolve().parent
PROGRAMS = HERE / "programs"
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
        return self._inside(PROGRAMS / f"{source}.c", self.core_objects(sanitizer), sanitizer, *link)

    def hooked(self, source: Path, sanitizer: str, *link: str) -> Path:
        """A program that has the recorder inside, whose symbols come before those of the library (a fake, unless `link` names one)."""
        library = link or ("-Wl,--no-as-needed", "-L", str(self.fake), f"-Wl,-rpath,{self.fake}", "-lOpenCL")
        return self._inside(source, self.opencl_objects(sanitizer), sanitizer, *library)

    def _inside(self, source: Path, objects: Sequence[Path], sanitizer: str, *link: str) -> Path:
        flags = ["-std=gnu11", "-O2", "-g", *WARNINGS, *SANITIZERS[sanitizer]]
        include = ["-I", NATIVE, "-I", self.generated, "-I", PROGRAMS]
        return self.built(source.stem, "cc", *flags, *include, source, *objects, *link, "-ldl", "-lpthread")

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
