"""What the tests compile, made once per test run.

The workers of a run share one folder. Who comes first makes a thing there under a lock, and the others wait for it; what cannot be
made fails every test that wants it with the same words. A run in one process does the same in its own folder.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # benchmarks build with this too, where there may be no pytest
    import pytest

ROOT = Path(__file__).resolve().parents[2]
NATIVE = ROOT / "native"
WARNINGS = ["-Wall", "-Wextra", "-Werror"]
LIBRARY_FLAGS = ["-std=gnu11", "-O2", "-g", "-fPIC", "-fvisibility=hidden", *WARNINGS]
SYMBOLS_ONLY = ("opencl-symbols", "generated-cl_exports")  # what libgpudx-opencl.so has and libgpudx.so has not

Word = str | Path


def shared_folder(factory: pytest.TempPathFactory) -> Path:
    """The folder that all workers of this test run have in common."""
    own = factory.getbasetemp()
    place = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "shared"
    place.mkdir(exist_ok=True)
    return place


def once(place: Path, make: Callable[[Path], object]) -> Path:
    """`place`, a file or folder that `make(place)` makes, once for all processes that ask."""
    place.parent.mkdir(parents=True, exist_ok=True)
    made = place.with_name(f".{place.name}.made")  # empty, or why it could not be made
    if not made.exists():
        with open(place.with_name(f".{place.name}.lock"), "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not made.exists():
                _stamp(made, _attempt(place, make))
    complaint = made.read_text()
    assert not complaint, complaint
    return place


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
        return once(self.shared / "built" / key / name, lambda target: tell(*command, "-o", target, env=env))

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
        """Of both libraries, with more flags of the compiler."""
        sources = [path for path in NATIVE.glob("*/*.c") if path.parent.name != "core"]
        sources += [*self.core_sources, *self.generated.glob("*_wrappers.c"), self.generated / "cl_exports.c"]
        return self.objects(name, sources, *LIBRARY_FLAGS, *more)

    def joined(self, name: str, objects: Sequence[Path], *more: str) -> Path:
        return self.built(name, "cc", "-shared", *more, "-Wl,-z,nodelete,-z,now", *objects, "-ldl", "-lpthread")

    @cached_property
    def recorder(self) -> Path:
        """libgpudx.so: preloaded, and an OpenCL layer."""
        return self.joined("libgpudx.so", [path for path in self.all_objects() if path.stem not in SYMBOLS_ONLY])

    @cached_property
    def symbols(self) -> Path:
        """libgpudx-opencl.so: preloaded, with the OpenCL functions as its symbols."""
        return self.joined("libgpudx-opencl.so", self.all_objects())
