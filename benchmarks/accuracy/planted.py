"""The planted programs: what their headers say, and how a program and its correct twin are built.

A program is one file. Its header is TOML in comments that begin with `//:` (C, C++, CUDA) or `#:` (Python):

    class     the row of the failure catalogue (A1 out of bounds, B1 order, ...)
    group     "general" (default) or "order" (order, host memory under copies, threads, initialization)
    cause     the acceptable causes; an empty list marks a program without a fault
    kernel    the guilty kernel, or several of which each is a right answer
    launch    the ordinal of the guilty launch, counted from 1
    argument  the index of the guilty argument, counted from 0, or several of which each is a right answer
    call      the guilty API call, or several of which each is a right answer
    other     the second site of a race: kernels or calls of which one must be named beside the guilty one
    plain     how a plain run ends: exit, signal, hang, silent (status 0), sometimes, passes
    fault     one sentence on what is wrong
    flags     further compiler options, for both
    arch      architecture options of the faulty build, in place of the default

The line to change carries the comment FAULT. The twin is the same file built with -DTWIN, or run with the argument `twin`.
"""

from __future__ import annotations

import fnmatch
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

PROGRAMS = Path(__file__).resolve().parent / "programs"
APIS = ("cuda", "opencl")
PLAIN = ("exit", "signal", "hang", "silent", "sometimes", "passes")
CUDA_ARCH = ("-arch=" + os.environ.get("CUDA_ARCH", "sm_90"),)

# Kernels of the order programs must be loaded before the race begins: loading one on first use may wait for those that run
# (CUDA C++ Programming Guide, "Lazy Loading", concurrent execution), which hides the race.
ENVIRONMENT = {"CUDA_MODULE_LOADING": "EAGER"}


class BadHeader(Exception):
    """A header that cannot be used."""


@dataclass(frozen=True)
class Planted:
    """One program, as its header describes it."""

    path: Path
    api: str
    family: str
    causes: tuple[str, ...]
    plain: str
    fault: str
    fault_line: int | None
    group: str = "general"
    kernels: tuple[str, ...] = ()
    launch: int | None = None
    arguments: tuple[int, ...] = ()
    calls: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    arch: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Unique within its API."""
        return self.path.stem

    @property
    def has_fault(self) -> bool:
        """False of programs that are correct and only look wrong."""
        return bool(self.causes)


def _several(value: object) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value) if isinstance(value, list) else ()


def _header(path: Path) -> dict[str, object]:
    lines = [line[3:].lstrip("/") for line in path.read_text().splitlines() if re.match(r"(//|#):", line)]
    text = "\n".join(line.lstrip(": ") for line in lines)
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadHeader(f"{path}: the header is not TOML ({error}); compare it with another program's") from error


def read(path: Path) -> Planted:
    """The description in a program's header."""
    header = _header(path)
    known = {
        "class",
        "group",
        "cause",
        "kernel",
        "launch",
        "argument",
        "call",
        "other",
        "plain",
        "fault",
        "flags",
        "arch",
    }
    if unknown := sorted(header.keys() - known):
        raise BadHeader(f"{path}: unknown key {unknown[0]!r}; the keys are {', '.join(sorted(known))}")
    if missing := [key for key in ("class", "cause", "plain", "fault") if key not in header]:
        raise BadHeader(f"{path}: the header has no {missing[0]!r}")
    if header["plain"] not in PLAIN:
        raise BadHeader(f"{path}: plain is {header['plain']!r}; it is one of {', '.join(PLAIN)}")
    marked = [
        number for number, line in enumerate(path.read_text().splitlines(), 1) if re.search(r"(//|#) FAULT$", line)
    ]
    launch, argument = header.get("launch"), header.get("argument", [])
    if header["cause"] and len(marked) != 1:
        raise BadHeader(f"{path}: {len(marked)} lines carry the comment FAULT; mark the one line to change")
    return Planted(
        path=path,
        api=path.parent.name,
        family=str(header["class"]),
        causes=_several(header["cause"]),
        plain=str(header["plain"]),
        fault=str(header["fault"]),
        fault_line=marked[0] if marked else None,
        group=str(header.get("group", "general")),
        kernels=_several(header.get("kernel")),
        launch=launch if isinstance(launch, int) else None,
        arguments=(argument,) if isinstance(argument, int) else tuple(argument) if isinstance(argument, list) else (),
        calls=_several(header.get("call")),
        others=_several(header.get("other")),
        flags=_several(header.get("flags")),
        arch=_several(header.get("arch")),
    )


def programs(apis: Sequence[str] = APIS, only: str = "*") -> list[Planted]:
    """All programs of these APIs whose name, or API/name, matches the pattern."""
    return [
        one for one in _all(apis) if fnmatch.fnmatch(one.name, only) or fnmatch.fnmatch(f"{one.api}/{one.name}", only)
    ]


def _all(apis: Sequence[str]) -> Iterator[Planted]:
    for api in apis:
        for path in sorted((PROGRAMS / api).iterdir()):
            if path.suffix in (".cu", ".c", ".cpp", ".py"):
                yield read(path)


def environment(planted: Planted) -> dict[str, str]:
    """The environment in which the program and its twin are run."""
    return dict(os.environ) | (ENVIRONMENT if planted.group == "order" else {})


def build(planted: Planted, twin: bool, folder: Path) -> list[str]:
    """The command that runs the program or its twin, built if its source is newer. Raises CalledProcessError."""
    if planted.path.suffix == ".py":
        return [sys.executable, str(planted.path), *(["twin"] if twin else [])]
    target = folder / planted.api / (planted.name + (".twin" if twin else ""))
    if not target.exists() or target.stat().st_mtime < planted.path.stat().st_mtime:
        target.parent.mkdir(parents=True, exist_ok=True)
        command = [*_compiler(planted, twin, folder), *(["-DTWIN"] if twin else []), "-o", str(target)]
        subprocess.run(command, check=True, capture_output=True, text=True)
    return [str(target)]


def _compiler(planted: Planted, twin: bool, folder: Path) -> list[str]:
    source = str(planted.path)
    if planted.api == "opencl":
        compiler = ["c++", "-std=c++17"] if planted.path.suffix == ".cpp" else ["cc", "-std=gnu11"]
        return [*compiler, "-g", "-O1", "-pthread", *planted.flags, source, "-lOpenCL", "-lm"]
    arch = planted.arch if planted.arch and not twin else CUDA_ARCH
    driver = [f"-L{_driver_library(folder)}", "-lcuda"] if "#include <cuda.h>" in planted.path.read_text() else []
    return ["nvcc", "-std=c++17", *arch, "-lineinfo", "-g", "-O2", *planted.flags, source, *driver]


def _driver_library(folder: Path) -> Path:
    """A folder with a libcuda.so to link against: the toolkit's stub, or one made here where it was not installed."""
    toolkit = Path(shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc").resolve().parent.parent
    for place in (*toolkit.glob("**/stubs"), *Path("/usr/local").glob("cuda*/**/stubs")):
        if (place / "libcuda.so").exists():
            return place
    made = folder / "driver-stub"
    if not (made / "libcuda.so").exists():
        made.mkdir(parents=True, exist_ok=True)
        header = next(Path("/usr/local").glob("cuda*/include/cuda.h"))
        text = subprocess.run(["cc", "-E", str(header)], check=True, capture_output=True, text=True).stdout
        names = sorted(set(re.findall(r"\b(cu[A-Z]\w*)\s*\(", text)))
        (made / "stub.c").write_text("".join(f"int {name}(void) {{ return 0; }}\n" for name in names))
        library = made / f"libcuda.{os.getpid()}.so"  # renamed when complete: programs are built at the same time
        link = ["cc", "-w", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "-o", str(library), str(made / "stub.c")]
        subprocess.run(link, check=True, capture_output=True, text=True)
        library.rename(made / "libcuda.so")
    return made
