"""Build a small C program on whatever this machine has."""

from __future__ import annotations

import os
import shlex
import shutil
from dataclasses import dataclass, field
from pathlib import Path

from gpudx import native
from gpudx.backends.tool import Linking, Simulator
from gpudx.errors import UserError
from gpudx.lab.probe import ask

FLAGS = ("-g", "-O1", "-fno-omit-frame-pointer")
PATIENCE_S = 180.0  # of a compiler, on a busy machine
NO_COMPILER = "There is no C compiler: install one (apt install gcc), or name yours in CC."


@dataclass(frozen=True)
class Recipe:
    """What to compile: sources and flags in `folder`, libraries by their bare names."""

    name: str
    sources: tuple[str, ...]
    flags: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()
    compiler: str = ""  # a compiler that brings its own headers and libraries, such as nvcc; "": the C compiler
    kernels: tuple[str, ...] = ()  # of the sources: those with kernels, for a simulator


@dataclass(frozen=True)
class Built:
    """A program that was built, and what it needs in its environment to run."""

    program: Path
    environment: dict[str, str] = field(default_factory=dict)
    make: dict[str, str] = field(default_factory=dict)  # variables with which `make` builds the same here


@dataclass(frozen=True)
class _Parts:
    """Compiler words for one API."""

    include: tuple[str, ...] = ()
    link: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)


def compiler() -> list[str]:
    """The C compiler as words: CC, else cc, gcc or clang. UserError when there is none."""
    words = shlex.split(os.environ.get("CC", "")) or [name for name in ("cc", "gcc", "clang") if shutil.which(name)][:1]
    if not words or not shutil.which(words[0]):
        raise UserError(NO_COMPILER)
    return words


def build(recipe: Recipe, folder: Path, linking: Linking | None) -> Built:
    """Compile `recipe` inside `folder`. UserError with the compiler's first complaint when it fails."""
    cc = [_named_compiler(recipe.compiler)] if recipe.compiler else [*compiler(), *FLAGS]
    parts = _parts(compiler(), linking) if linking and not recipe.compiler else _Parts()
    program = folder / recipe.name
    libraries = [word for name in recipe.libraries for word in _library(name, linking, parts)]
    words = [*cc, *recipe.flags, *parts.include, *recipe.sources, "-o", str(program), *libraries]
    _compile(recipe.name, words, folder, linking.compiler if linking else {})
    simulator = linking.simulator() if linking and not linking.ready() else None
    simulated = _simulated(recipe, folder, simulator) if simulator else {}
    make = {"CC": shlex.join(cc), "CPPFLAGS": shlex.join(parts.include), "LDLIBS": shlex.join(libraries)}
    return Built(program, parts.environment | simulated, make)


def _compile(name: str, words: list[str], folder: Path, environment: dict[str, str]) -> None:
    answer = ask(words, env=os.environ | environment, cwd=folder, patience=PATIENCE_S)
    if answer.problem:
        said = next((line for line in answer.err.splitlines() if "error" in line), answer.problem)
        raise UserError(f"{name} cannot be built: {said.strip()}; see `gpudx doctor`.")


def _simulated(recipe: Recipe, folder: Path, simulator: Simulator) -> dict[str, str]:
    """Builds the runtime and the kernels for the processor; the variables under which the program runs on them."""
    place = folder / "simulated"
    place.mkdir()
    shared = ("-g", "-fPIC", "-shared", "-fvisibility=hidden")
    # Without the optimizer: to compile the runtime takes longer than what programs do with it.
    runtime = [*compiler(), "-O0", *shared, *simulator.flags, *map(str, sorted(simulator.sources.glob("*.c")))]
    _compile(simulator.soname, [*runtime, "-o", str(place / simulator.soname), "-ldl", "-lpthread"], folder, {})
    made = []
    for source in recipe.kernels:
        target = place / f"{Path(source).stem}.so"
        words = [*_cxx(), "-O1", *shared, "-std=c++17", f"-I{simulator.include}", "-I.", "-x", "c++", source]
        _compile(source, [*words, "-o", str(target)], folder, {})
        made.append(str(target))
    libraries = os.pathsep.join(filter(None, (str(place), os.environ.get("LD_LIBRARY_PATH", ""))))
    return {"LD_LIBRARY_PATH": libraries, simulator.kernels: os.pathsep.join(made)} | simulator.environment


def _cxx() -> list[str]:
    """The C++ compiler as words: CXX, else c++, g++ or clang++."""
    words = shlex.split(os.environ.get("CXX", ""))
    words = words or [name for name in ("c++", "g++", "clang++") if shutil.which(name)][:1]
    if not words:
        raise UserError("There is no C++ compiler: install one (apt install g++), or name yours in CXX.")
    return words


def _named_compiler(name: str) -> str:
    places = os.pathsep.join([os.environ.get("PATH", ""), "/usr/local/cuda/bin", "/opt/rocm/bin"])
    found = shutil.which(name, path=places)
    if found is None:
        raise UserError(f"{name} is not installed: install its toolkit, or add its folder to PATH.")
    return found


def _library(name: str, linking: Linking | None, parts: _Parts) -> tuple[str, ...]:
    return parts.link if linking and name == linking.library else (f"-l{name}",)


def _parts(cc: list[str], linking: Linking) -> _Parts:
    """The system's library when it has a driver behind it, else the one in a Python package."""
    include = _include(cc, linking)
    if linking.ready() and _has_library(cc, linking.library):
        return _Parts(include, (f"-l{linking.library}",))
    bundled = linking.bundled()
    if bundled is None:
        raise UserError(f"There is no {linking.library} driver to run on: {linking.install}.")
    link = (str(bundled.library), f"-Wl,-rpath,{bundled.library.parent}")
    return _Parts(include, link, bundled.environment)


def _include(cc: list[str], linking: Linking) -> tuple[str, ...]:
    """Nothing when the system has the header, else the folder with ours."""
    if not ask([*cc, "-E", "-include", linking.header, "-x", "c", "/dev/null"]).problem:
        return ()
    own = native.data("include")
    if own is None or not (own / linking.header).is_file():
        raise UserError(
            f"{linking.header} is missing: install the API's headers, or reinstall gpudx, which has its own."
        )
    return (f"-I{own}",)


def _has_library(cc: list[str], name: str) -> bool:
    """The compiler answers with a full path for a library that it would link."""
    return os.path.isabs(ask([*cc, f"-print-file-name=lib{name}.so"]).out.strip())
