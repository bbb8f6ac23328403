"""What the tests compile, made once and kept for later runs.

Nearly everything goes into one folder of build/cache, which is named after the hash of all sources that things are compiled from. The
workers of a run, and runs at the same time, share it: who comes first makes a thing under a lock, and the others wait for it.
What cannot be made fails every test of this run that wants it with the same words; the next run tries again.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import time
import traceback
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NATIVE = ROOT / "native"
WARNINGS = ["-Wall", "-Wextra", "-Werror"]
LIBRARY_FLAGS = ["-std=gnu11", "-O2", "-g", "-fPIC", "-fvisibility=hidden", *WARNINGS]
# Flags of the compiler. Compiling takes longer than what the optimizer would save in these runs; lines are all that reports need.
# GCC says that TSan does not model fences; the only ones are between a thread and its own signal handlers.
SANITIZERS = {
    "plain": (),
    "address": ("-O0", "-g1", "-fno-omit-frame-pointer", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"),
    "thread": ("-O0", "-g1", "-fno-omit-frame-pointer", "-fsanitize=thread", "-DUNDER_TSAN", "-Wno-tsan"),
}
CORE = ("core-", "generated-gdx_schema")  # object files, by the folder of their source
OPENCL = ("opencl-", "generated-cl_")
SYMBOLS_ONLY = ("opencl-symbols", "generated-cl_exports")  # what libgpudx-opencl.so has and libgpudx.so has not

Word = str | Path


CACHE = ROOT / "build" / "cache"
# What is compiled, and what says how. Workers and programs of tests inherit the name of the run.
COMPILED_FROM = ("native", "schema", "tools", "tests", "benchmarks/c", "src/gpudx/lab/build.py", "src/gpudx/backends/hip")
SUFFIXES = {".c", ".h", ".cu", ".cuh", ".hip", ".cpp", ".hpp", ".map", ".toml", ".S"}
PYTHON = (  # beginnings of the names of generators and recipes; tests and their other helpers do not count
    *(f"tools/{name}" for name in ("generate", "schema_model", "opencl_header", "opencl_wrappers", "driver_")),
    *(f"tests/support/{name}.py" for name in ("builds", "compilers", "opencl", "sanitized")),
    "src/",
)
RUN = os.environ.setdefault("GPUDX_TEST_RUN", os.environ.get("PYTEST_XDIST_TESTRUNUID") or uuid.uuid4().hex)
GENERATORS = ("every_entry", "fake_opencl")  # of C sources, below tests/native
KEPT, KEPT_S = 3, 86_400  # folders of other sources are kept as long, or as many


@cache
def shared_folder() -> Path:
    """The folder for things made from the sources as they are now."""
    place = CACHE / _sources_hash()
    place.mkdir(parents=True, exist_ok=True)
    os.utime(place)
    others = sorted(CACHE.iterdir(), key=lambda one: one.stat().st_mtime, reverse=True)[KEPT:]
    for old in (one for one in others if time.time() - one.stat().st_mtime > KEPT_S):
        shutil.rmtree(old, ignore_errors=True)
    return place


def lasting_folder(name: str) -> Path:
    """The folder for things that are found by their own contents, whatever else has changed here; a new one each week."""
    place = CACHE / f"{name}-{time.strftime('%G-%V')}"
    place.mkdir(parents=True, exist_ok=True)
    os.utime(place)
    return place


def _sources_hash() -> str:
    """Of all files that builds depend on, of where they are (debug information has paths), and of the compilers."""
    made = hashlib.sha256(str(ROOT).encode())
    for path in sorted(_sources()):
        made.update(str(path.relative_to(ROOT)).encode() + b"\0" + path.read_bytes())
    for compiler in ("cc", "hipcc"):
        told = (
            subprocess.run([compiler, "--version"], capture_output=True, check=False)
            if shutil.which(compiler)
            else None
        )
        made.update(told.stdout if told else b"none")
    return made.hexdigest()[:16]


def _sources() -> Iterator[Path]:
    for name in COMPILED_FROM:
        for path in [ROOT / name] if (ROOT / name).is_file() else (ROOT / name).rglob("*"):
            recipe = path.suffix == ".py" and (
                str(path.relative_to(ROOT)).startswith(PYTHON) or path.stem.endswith("_kit") or path.stem in GENERATORS
            )
            if (path.suffix in SUFFIXES or recipe) and path.is_file():
                yield path


def once(place: Path, make: Callable[[Path], object]) -> Path:
    """`place`, a file or folder that `make(place)` makes, once for all processes that ask."""
    place.parent.mkdir(parents=True, exist_ok=True)
    made = place.with_name(f".{place.name}.made")  # empty; or the run that could not make it, and why
    if not _is_settled(made):
        with open(place.with_name(f".{place.name}.lock"), "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not _is_settled(made):
                complaint = _attempt(place, make)
                _stamp(made, f"{RUN}\n{complaint}" if complaint else "")
    complaint = made.read_text().partition("\n")[2]
    assert not complaint, complaint
    return place


def _is_settled(made: Path) -> bool:
    """Was it made, or found in this run that it cannot be?"""
    return made.exists() and made.read_text().partition("\n")[0] in ("", RUN)


def _attempt(place: Path, make: Callable[[Path], object]) -> str:
    """Why `make` failed, "" if it did not."""
    if place.is_dir():  # left by one that was stopped in the middle
        shutil.rmtree(place)
    place.unlink(missing_ok=True)
    try:
        make(place)
    except Exception as error:
        return "".join(traceback.format_exception_only(error))
    return ""


def _stamp(made: Path, complaint: str) -> None:
    """Whole or not at all: others read it without the lock."""
    new = made.with_name(made.name + ".new")
    new.write_text(complaint)
    new.rename(made)


def tell(*command: Word, env: Mapping[str, str] | None = None) -> None:
    """Run a compiler; what it says is shown when it fails."""
    words = [str(word) for word in command]
    full = {**os.environ, **(env or {})}
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=full)
    assert done.returncode == 0, f"{' '.join(words)}\n{done.stdout}{done.stderr}"


def cc(*arguments: Word) -> None:
    """The C compiler."""
    tell("cc", *arguments)


def generated(shared: Path) -> Path:
    """What tools/generate.py makes, with our OpenCL header as CL/cl.h."""

    def make(out: Path) -> None:
        tell(sys.executable, ROOT / "tools/generate.py", ROOT / "schema", out)
        (out / "CL").mkdir()
        shutil.copy(out / "cl.h", out / "CL/cl.h")

    return once(shared / "generated", make)


class Builds:
    """The recorder of this checkout, and what else is built. `shared` holds what is built, `folder` is this process's own."""

    def __init__(self, folder: Path, shared: Path | None = None) -> None:
        self.folder = folder
        self.shared = shared or folder

    @cached_property
    def generated(self) -> Path:
        return generated(self.shared)

    def built(self, name: str, *command: Word, env: Mapping[str, str] | None = None) -> Path:
        """A file that a compiler makes, whose words these are. The same words for the same name are run once."""
        words = [name, *map(str, command), *(f"{k}={v}" for k, v in (env or {}).items())]
        key = hashlib.sha256("\0".join(words).encode()).hexdigest()[:16]
        own = any(str(self.folder.parent) in word for word in words)  # from sources of this run: no other run has them
        place = (self.folder if own else self.shared) / "built" / key / name
        return once(place, lambda target: tell(*command, "-o", target, env=env))

    @property
    def core_sources(self) -> list[Path]:
        return [*sorted((NATIVE / "core").glob("*.c")), self.generated / "gdx_schema.c"]

    def objects(self, name: str, sources: Sequence[Path], *flags: str) -> list[Path]:
        """Object files of the recorder's sources, in a folder of that name."""

        def make(place: Path) -> None:
            place.mkdir()
            with ThreadPoolExecutor(os.cpu_count()) as pool:
                list(pool.map(lambda source: compile_one(source, place), sources))

        def compile_one(source: Path, place: Path) -> None:
            target = place / f"{source.parent.name}-{source.stem}.o"
            cc(*flags, "-I", NATIVE, "-I", self.generated, "-c", "-o", target, source)

        return sorted(once(self.shared / name, make).glob("*.o"))

    def all_objects(self, *more: str, name: str = "objects") -> list[Path]:
        """Of both libraries, with more flags of the compiler. The log of the heap is a library of its own."""
        sources = [path for path in NATIVE.glob("*/*.c") if path.parent.name not in ("core", "heap")]
        sources += [*self.core_sources, *self.generated.glob("*_wrappers.c"), self.generated / "cl_exports.c"]
        return self.objects(name, sources, *LIBRARY_FLAGS, *more)

    def sanitized_objects(self, sanitizer: str) -> list[Path]:
        """Of both libraries, made with one sanitizer."""
        return self.all_objects(*SANITIZERS[sanitizer], name=f"careful-{sanitizer}")

    def core_objects(self, sanitizer: str) -> list[Path]:
        """Of the recorder without its hooks, for programs that have it inside."""
        if sanitizer == "plain":
            return self._ready_core() or self.objects("core-plain", self.core_sources, *LIBRARY_FLAGS)
        return [path for path in self.sanitized_objects(sanitizer) if path.stem.startswith(CORE)]

    def opencl_objects(self, sanitizer: str) -> list[Path]:
        """The core and the hooks of OpenCL with their symbols, for programs that have them inside."""
        return [path for path in self.sanitized_objects(sanitizer) if path.stem.startswith((*CORE, *OPENCL))]

    def _ready_core(self) -> list[Path]:
        """As tools/test has just compiled them; copies, since another run may compile them anew."""
        ready = Path(os.environ.get("GPUDX_TEST_NATIVE", "")) / "libgpudx.so.p"
        names = [f"native_core_{one.stem}.c.o" for one in (NATIVE / "core").glob("*.c")]
        objects = [ready / name for name in (*names, "meson-generated_.._gdx_schema.c.o")]
        if not all(one.is_file() for one in objects):
            return []

        def make(place: Path) -> None:
            place.mkdir()
            for one in objects:
                shutil.copy(one, place)

        return sorted(once(self.shared / "core-ready", make).glob("*.o"))

    def as_built(self, name: str, objects: Callable[[], Sequence[Path]]) -> Path:
        """The library as tools/test has just built it; a copy, since another run may build it anew. Else it is made of objects."""
        ready = Path(os.environ.get("GPUDX_TEST_NATIVE", "")) / name
        if not ready.is_file():
            return self.joined(name, objects())
        return once(self.shared / "native" / name, lambda place: shutil.copy(ready, place))

    def joined(self, name: str, objects: Sequence[Path], *more: str) -> Path:
        return self.built(name, "cc", "-shared", *more, "-Wl,-z,nodelete,-z,now", *objects, "-ldl", "-lpthread")

    @cached_property
    def recorder(self) -> Path:
        """libgpudx.so: preloaded, and an OpenCL layer."""
        return self.as_built(
            "libgpudx.so", lambda: [path for path in self.all_objects() if path.stem not in SYMBOLS_ONLY]
        )

    @cached_property
    def symbols(self) -> Path:
        """libgpudx-opencl.so: preloaded, with the OpenCL functions as its symbols."""
        return self.as_built("libgpudx-opencl.so", self.all_objects)
