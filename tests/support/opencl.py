"""Builds small OpenCL programs in C, runs them under the recorder, and gives what the detectors found.

Nothing of the system is needed but `cc`: the header is made from schema/, loader and device come from the pyopencl
wheel. GPUDX_TEST_OPENCL=system uses the system's loader and driver instead, GPUDX_TEST_OPENCL=intel Intel's driver for CPUs
(pip install intel-opencl-rt intel-cmplr-lib-rt, or the folder of its libraries in GPUDX_INTEL_OPENCL).
"""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pytest

from gpudx import native
from gpudx.backends.opencl.icds import wheel_compiles
from gpudx.detectors import Run, detect_all
from gpudx.errors import UserError
from gpudx.facts import Facts, derive
from gpudx.model import Finding, Outcome
from gpudx.trace import Trace, open_trace
from support.builds import ROOT, Builds, lasting_folder, once, shared_folder

PROGRAMS = ROOT / "tests/detectors/programs"
Until = Callable[[Trace], bool]


@dataclass(frozen=True)
class Loader:
    """What programs are linked with, and the environment in which they find a device."""

    link: tuple[str, ...]
    environment: Mapping[str, str]
    driver: str = "pocl"  # or "intel"


def find_loader() -> Loader | None:
    """The loader and device in the pyopencl wheel, or the system's where that is wanted, or all that can compile here."""
    if os.environ.get("GPUDX_TEST_OPENCL") == "intel":
        return find_intel()
    wheel = _wheel() if os.environ.get("GPUDX_TEST_OPENCL") != "system" else None
    if wheel and wheel_compiles():
        return wheel
    return Loader(("-lOpenCL",), {}) if any(Path("/etc/OpenCL/vendors").glob("*.icd")) else None


def _wheel() -> Loader | None:
    spec = importlib.util.find_spec("pyopencl")
    if spec is None or spec.origin is None:
        return None
    home = Path(spec.origin).parent
    libs = home / ".libs"
    loaders, drivers = sorted(libs.glob("libOpenCL*.so*")), sorted(libs.glob("libpocl*.so*"))
    if not loaders or not drivers:
        return None
    link = (str(loaders[0]), f"-Wl,-rpath,{libs}")
    return Loader(link, {"PYOPENCL_HOME": str(home), "OCL_ICD_VENDORS": str(drivers[0])})


def find_intel() -> Loader | None:
    """The wheel's loader with Intel's driver. (Intel's own wheel brings a loader too: it is not linked with.)"""
    named = os.environ.get("GPUDX_INTEL_OPENCL")
    folders = [Path(named)] if named else [Path(sys.prefix) / "lib"]
    driver = next((f / "libintelocl.so" for f in folders if (f / "libintelocl.so").is_file()), None)
    wheel = _wheel()
    if driver is None or wheel is None:
        return None
    path = os.pathsep.join([str(driver.parent), *filter(None, [os.environ.get("LD_LIBRARY_PATH")])])

    def register(folder: Path) -> None:  # Intel's own loader, which some programs find there, takes no library here
        folder.mkdir()
        (folder / "intel.icd").write_text(f"{driver}\n")

    vendors = once(shared_folder() / "intel-vendors", register)
    return Loader(wheel.link, {**wheel.environment, "OCL_ICD_VENDORS": str(vendors), "LD_LIBRARY_PATH": path}, "intel")


def find_recorder() -> Path | None:
    """The recorder of this checkout's build or of the installed package."""
    named = os.environ.get("GPUDX_TEST_LIB")
    candidates = [Path(named)] if named else []
    try:
        candidates.append(native.library())
    except UserError:
        candidates.append(ROOT / "build/native/libgpudx.so")
    return next((path for path in candidates if path.is_file()), None)


@dataclass(frozen=True)
class Recorded:
    """A run that is over: how it ended, what it printed, and its traces."""

    outcome: Outcome
    output: str
    traces: tuple[Trace, ...]

    @cached_property
    def facts(self) -> Facts:
        """The facts of the only process that was recorded."""
        (trace,) = self.traces
        return derive(trace)

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        return tuple(f for trace in self.traces for f in detect_all(derive(trace), Run(self.outcome)))

    @property
    def errors(self) -> tuple[Finding, ...]:
        return tuple(f for f in self.findings if f.severity == "error")

    def of(self, name: str) -> tuple[Finding, ...]:
        """The findings of one detector."""
        return tuple(f for f in self.findings if f.id == name)

    def only(self, name: str) -> Finding:
        """The one finding of a detector."""
        found = self.of(name)
        assert len(found) == 1, f"{name}: {[f.message for f in self.findings]}\n{self.outcome}\n{self.output}"
        return found[0]


class OpenCL(Builds):
    """Compiles programs and runs them under the recorder."""

    def __init__(self, folder: Path, shared: Path, loader: Loader, recorder: Path) -> None:
        super().__init__(folder, shared)
        self.loader, self.recorder = loader, recorder
        self._runs = 0

    @property
    def refuses_bad_handles(self) -> bool:
        """PoCL uses a value that is no handle as one, and crashes; Intel's driver answers CL_INVALID_MEM_OBJECT."""
        return self.loader.driver == "intel"

    @property
    def include(self) -> Path:
        """A folder with our own CL/cl.h."""
        return self.generated

    @property
    def kernels(self) -> Path:
        """The driver's cache of compiled kernels, for all workers: to compile one takes ten times as long as a run."""
        return lasting_folder("kernels")

    def build(self, sources: Sequence[Path], *flags: str, name: str | None = None) -> Path:
        """A program from C files."""
        common = ["-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", f"-I{self.include}", f"-I{PROGRAMS}"]
        link = [*self.loader.link, "-lpthread", "-lm"]
        return self.built(name or sources[0].stem, "cc", *common, *flags, *sources, *link)

    def short_twin(self, incident: Path) -> Path:
        """An incident's program without its fault, with a tenth of its rounds: a correct program fails in none of them."""

        def make(place: Path) -> None:
            place.mkdir()
            for source in incident.glob("*.[ch]"):
                (place / source.name).write_text(source.read_text().replace("ROUNDS = 3000", "ROUNDS = 300"))

        sources = once(self.shared / f"short-{incident.name}", make)
        return self.build(sorted(sources.glob("*.c")), "-DTWIN", name=f"{incident.name}-twin")

    def run(self, program: str, *arguments: str, until: Until | None = None, **environment: str) -> Recorded:
        """One of tests/detectors/programs, recorded."""
        return self.record([self.build([PROGRAMS / f"{program}.c"]), *arguments], until=until, **environment)

    def record(
        self, command: Sequence[str | Path], *, until: Until | None = None, patience: float = 240, **environment: str
    ) -> Recorded:
        """Any command, recorded. One that never ends is stopped when its trace is such, and counts as hanging."""
        self._runs += 1
        traces = self.folder / f"traces-{self._runs}"
        traces.mkdir()
        began = time.monotonic()
        process = subprocess.Popen(
            [str(part) for part in command],
            env=self.recording(traces) | environment,
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        timed_out, output = _wait(process, traces, until, patience)
        outcome = _outcome(process.returncode, timed_out, time.monotonic() - began)
        return Recorded(outcome, output, tuple(open_trace(path) for path in sorted(traces.glob("*.gdx"))))

    @property
    def plain_environment(self) -> dict[str, str]:
        """The same device without the recorder."""
        return {**os.environ, **self.loader.environment, "POCL_CACHE_DIR": str(self.kernels)}

    def recording(self, traces: Path) -> dict[str, str]:
        """The same with the recorder."""
        loading = {"LD_PRELOAD": str(self.recorder), "OPENCL_LAYERS": str(self.recorder)}
        return {**self.plain_environment, "GPUDX_DIR": str(traces), "GPUDX_KEEP": "all", **loading}


def until_waiting(file: Path, count: int) -> str:
    """For a shell, before it starts what shall fail: until so many programs `hanging event` with this file as WAITING wait."""
    return f'until [ "$(cat {file} 2>/dev/null | wc -c)" -ge {count} ]; do sleep 0.1; done; sleep 0.3'


def in_flight(trace: Trace, call: str) -> bool:
    """Is the program inside a call of this name?"""
    return bool((trace.column("end", trace.named(call)) == 0).any())


def waits(call: str, launches: int) -> Until:
    """After so many launches the program is in this call."""
    return lambda trace: in_flight(trace, call) and len(trace.select(trace.schema.doing("launch"))) == launches


def _wait(process: subprocess.Popen[str], traces: Path, until: Until | None, patience: float) -> tuple[bool, str]:
    """(was it stopped?, what it printed)"""
    limit = time.monotonic() + patience  # a busy machine is slow, which is no failure
    while time.monotonic() < limit:
        with suppress(subprocess.TimeoutExpired):
            return False, process.communicate(timeout=0.1 if until else patience)[0]
        if until and any(map(until, _begun(traces))):
            process.kill()
            return True, process.communicate()[0]
    process.kill()
    raise AssertionError(f"a program did not come so far in {patience} s\n{process.communicate()[0]}")


def _begun(traces: Path) -> Iterator[Trace]:
    for path in traces.glob("*.gdx"):
        with suppress(UserError):  # not begun yet
            yield open_trace(path)


def _outcome(code: int, timed_out: bool, seconds: float) -> Outcome:
    if timed_out:
        return Outcome("timeout", "The program had not ended and was stopped.", duration_s=seconds)
    if code < 0:
        name = signal.Signals(-code).name
        return Outcome("signal", f"The program was killed by {name}.", None, name, None, seconds)
    if code:
        return Outcome("exit", f"The program exited with status {code}.", code, duration_s=seconds)
    return Outcome("passed", "The program ended normally.", 0, duration_s=seconds)


def make(folder: Path, shared: Path, driver: str = "") -> OpenCL:
    """Skips the test where something is missing, and says what. `driver`: "intel", or the one that is asked for."""
    loader, recorder = find_intel() if driver == "intel" else find_loader(), find_recorder()
    if loader is None and (driver == "intel" or os.environ.get("GPUDX_TEST_OPENCL") == "intel"):
        pytest.skip("no OpenCL driver of Intel's: pip install intel-opencl-rt intel-cmplr-lib-rt")
    if loader is None:
        pytest.skip('no OpenCL loader and device: pip install "pyopencl[pocl]"')
    if recorder is None:
        pytest.skip("the recorder is not built: install gpudx, or set GPUDX_TEST_LIB")
    return OpenCL(folder, shared, loader, recorder)
