"""Builds the recorder, HIP programs with the real hipcc, and the simulated runtime they run on.

Execution is simulated (tests/hip/sim): these tests say that hooks, registration, versions and metadata are right, never that
an AMD device did anything.
"""

from __future__ import annotations

import json
import os
import pickle
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, cast
from unittest import mock

import pytest

from gpudx.backends.hip import DEVICE
from gpudx.backends.hip.simulated import shape, simulator
from gpudx.cli.demo import build_incident
from gpudx.demos import incidents
from gpudx.lab import build as lab_build
from gpudx.lab.build import Built, Recipe, build

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "cuda"))

from cuda_kit import Kit as CudaKit  # noqa: E402
from cuda_kit import Ran  # noqa: E402
from support import forked  # noqa: E402
from support.builds import once  # noqa: E402

LIBRARY = Path("/usr/lib/x86_64-linux-gnu/libamdhip64.so.5")
HEADER = Path("/usr/include/hip/hip_runtime_api.h")
SONAME = "libamdhip64.so.5"  # what programs of hipcc 5 are linked with, whatever the shape of the runtime
COMPILE = lab_build._compile
AMD = {"HIP_PLATFORM": "amd"}
HOST_ONLY = ("-x", "c++", "-D__HIP_PLATFORM_AMD__")
NO_HIPCC = "hipcc is not installed (apt install --no-install-recommends hipcc)"


def need_hipcc() -> None:
    if shutil.which("hipcc") is None:
        pytest.skip(NO_HIPCC)


def need_simulator(environment: Mapping[str, str]) -> None:
    """Skips a test that plants a behaviour of the simulator, where programs run on a real device (tools/hip_smoke.sh)."""
    if DEVICE.exists() and any(name.startswith("GPUDX_HIP_SIM_") for name in environment):
        pytest.skip("plants a behaviour of the simulated runtime")


class Kit(CudaKit):
    """The recorder of this checkout, and programs for the simulated runtime."""

    @cached_property
    def _linking(self):  # type: ignore[no-untyped-def]
        from gpudx.backends import linking

        return linking("hip")

    def hip_program(self, name: str, *flags: str, kernels: bool = True) -> Built:
        """A program of programs/, NAME.hip, with its kernels in NAME_kernels.hip. What has no kernels is compiled for the host alone,
        but for one program, in which two files register with the runtime."""
        beside = (f"{name}_kernels.hip",) if kernels else ()
        alone = HOST_ONLY if kernels and name != "tour" else ()
        sources = (*alone, f"{name}.hip", *(("-x", "hip") if alone else ()), *beside)
        recipe = Recipe(name, sources, ("-g", "-O1", *self.FLAGS, *flags), (), "hipcc", beside)

        def make(place: Path) -> Built:
            shutil.copytree(HERE / "programs", place)
            return build(recipe, place, self._linking)

        return self.built_once(f"{name}{''.join(flags)}", make)

    def incident(self, name: str, twin: bool = False) -> Built:
        """The program of an incident, or of its twin without the fault."""
        return self.built_once(
            f"{name}-{twin}", lambda place: build_incident(incidents.every()[name], place / "build", twin)
        )

    def built_once(self, name: str, make: Callable[[Path], Built]) -> Built:
        """A program that is built once for all tests, and runs on the simulated runtime in the shape that is asked for."""

        def made(place: Path) -> None:
            with mock.patch.object(lab_build, "_compile", self._compile):
                built = make(place)
            (place / "built").write_bytes(pickle.dumps(built))

        place = once(self.shared / f"hip-{name}", made)
        built = cast(Built, pickle.loads((place / "built").read_bytes()))
        return replace(built, environment=built.environment | self._on_runtime(built))

    def _compile(self, name: str, words: list[str], folder: Path, environment: dict[str, str]) -> None:
        """The simulated runtime is not built again with each program: it is the same for all."""
        if name != SONAME:
            COMPILE(name, words, folder, environment)

    def _on_runtime(self, built: Built) -> dict[str, str]:
        """The variables under which a program runs on the simulated runtime, where it was built for that."""
        if "LD_LIBRARY_PATH" not in built.environment:
            return {}
        folder = self.runtime(shape(), SONAME).parent
        return {"LD_LIBRARY_PATH": os.pathsep.join(filter(None, (str(folder), os.environ.get("LD_LIBRARY_PATH", ""))))}

    @cached_property
    def code_object(self) -> Path:
        return self.code_object_of("tour")

    def code_object_of(self, name: str) -> Path:
        """The kernels of programs/NAME_kernels.hip in a file of their own."""
        words = ["hipcc", "--genco", "--offload-arch=gfx90a", HERE / f"programs/{name}_kernels.hip"]
        return self.built(f"{name}.co", *words, env=AMD)

    def runtime(self, shape: str, name: str = "") -> Path:
        """The simulated runtime by itself, in the shape of HIP 5 or 7."""
        name = name or f"libamdhip64.so.{shape}"

        def make(place: Path) -> None:
            place.mkdir()
            self.build_runtime(place / name, shape)

        return once(self.shared / f"hip-runtime-{shape}-{name}", make) / name

    @staticmethod
    def build_runtime(library: Path, shape: str) -> None:
        words = ["-O0", "-g", "-fPIC", "-shared", "-fvisibility=hidden", "-std=gnu11", "-D__HIP_PLATFORM_AMD__"]
        words += ["-Wall", "-Wextra", "-Werror", f"-DSIM_HIP={shape}", f"-Wl,-soname,{library.name}"]
        words += [f"-Wl,--version-script={simulated() / 'versions.map'}", *map(str, sorted(simulated().glob("*.c")))]
        subprocess.run(["gcc", *words, "-o", str(library), "-ldl", "-lpthread"], check=True)

    FLAGS = ("--offload-arch=gfx90a", "-Wno-unused-result", "-pthread", "-ldl")

    def run_hip(self, built: Built, *words: str, record: bool = True, **environment: str) -> Ran:
        """One run on the simulated runtime, or on the real one where there is a device."""
        need_simulator(built.environment | environment)
        self._runs += 1
        folder = self.folder / f"run-{self._runs}"
        folder.mkdir()
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("GPUDX_", "HIP_", "LD_"))}
        env = clean | built.environment | {"GPUDX_HIP_SIM_DELAY_MS": "0"} | environment
        if record:
            env |= self.inside(folder)
        done = subprocess.run(
            [str(built.program), *words], env=env, capture_output=True, text=True, timeout=240, check=False
        )
        return Ran(done.returncode, done.stdout, done.stderr, folder)

    def case_of(self, built: Built, folder: Path, *words: str, **environment: str) -> dict[str, Any]:
        """The case of one run under `gpudx run`."""
        need_simulator(built.environment | environment)
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("HIP_", "LD_"))}
        env = clean | {"GPUDX_LIB": str(self.recorder)} | built.environment | environment
        forked.gpudx("run", "--case", folder / "case", "--", built.program, *words, env=env)
        return dict(json.loads((folder / "case/case.json").read_text()))


def spoilt(whole: bytes) -> Iterator[bytes]:
    """Code objects with every 16th byte changed from some place on, and cut short."""
    for number, kept in enumerate((len(whole), len(whole) // 2, 200)):
        changed = bytearray(whole[:kept])
        for at in range(24 + number, len(changed), 16):
            changed[at] ^= 0xFF
        yield bytes(changed)


def simulated() -> Path:
    found = simulator()
    assert found is not None
    return found.sources
