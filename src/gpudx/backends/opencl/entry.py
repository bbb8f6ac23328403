"""Which way in: as a layer, or, where the program's OpenCL loader knows no layers, by its symbols.

Exported symbols can collide with a program's own names, so they are used only where the layer cannot work
(docs/decisions/002-opencl-symbols-apart.md).
"""

from __future__ import annotations

import contextlib
import glob
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

LOADER = "libOpenCL.so.1"
SYSTEM = (
    "/usr/lib/*-linux-gnu",
    "/lib/*-linux-gnu",
    "/usr/lib64",
    "/lib64",
    "/usr/lib",
    "/lib",
    "/usr/local/lib",
    "/usr/local/cuda/lib64",
    "/opt/rocm/lib",
    "/opt/intel/oneapi/compiler/latest/lib",
)
BY_SYMBOLS = "libgpudx-opencl.so"
VARIABLE = "GPUDX_OPENCL"  # auto, layer or symbols


def takes_layers(loader: Path) -> bool:
    """A loader that knows layers reads the variable of this name. Unreadable counts as yes: the layer does no harm."""
    try:
        return b"OPENCL_LAYERS" in loader.read_bytes()
    except OSError:
        return True


def loader_for(program: Path, environment: Mapping[str, str]) -> Path | None:
    """The OpenCL loader that the dynamic linker would give this program, as far as its file tells (ld.so(8)): the
    places it names itself, LD_LIBRARY_PATH, the system's folders."""
    places = [*_own_places(program), *environment.get("LD_LIBRARY_PATH", "").split(":")]
    places += [place for pattern in SYSTEM for place in sorted(glob.glob(pattern))]
    found = (Path(p) / LOADER for p in places if p)
    return next((one for one in found if os.path.exists(one)), None)  # False also in folders that may not be entered


def library_for(lib: Path, program: Path, environment: Mapping[str, str], way: str = "auto") -> Path:
    """The build of the recorder to preload: the one with symbols only where the layer cannot work, or where asked."""
    by_symbols = lib.with_name(BY_SYMBOLS)
    wanted = way == "symbols" or (way != "layer" and _must_use_symbols(program, environment))
    return by_symbols if wanted and by_symbols.is_file() else lib


def _must_use_symbols(program: Path, environment: Mapping[str, str]) -> bool:
    loader = loader_for(program, environment)
    return loader is not None and not takes_layers(loader)


def _own_places(program: Path) -> Iterator[str]:
    """RPATH and RUNPATH of an executable; nothing for scripts and damaged files."""
    from elftools.common.exceptions import ELFError
    from elftools.elf.elffile import ELFFile

    with contextlib.suppress(OSError, ELFError, ValueError, KeyError), program.open("rb") as file:
        dynamic: Any = ELFFile(file).get_section_by_name(".dynamic")
        for tag in dynamic.iter_tags() if dynamic is not None else ():
            if tag.entry.d_tag in ("DT_RPATH", "DT_RUNPATH"):
                text = tag.rpath if tag.entry.d_tag == "DT_RPATH" else tag.runpath
                yield from text.replace("$ORIGIN", str(program.parent)).split(":")
