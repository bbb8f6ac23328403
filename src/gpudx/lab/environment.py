"""The environment of a recorded program."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from gpudx import backends, native
from gpudx.errors import UserError

DIRECTORY = "GPUDX_DIR"
KEEP = "GPUDX_KEEP"
DUMPS = "dumps"  # beside the traces
LONGEST_DIRECTORY = 890  # the recorder keeps the path in a fixed buffer (native/core/process.c)
SMALLEST_KEEP = 1 << 20
COMMON = ("LD_", "OMP_", "KMP_", "MKL_", "OPENBLAS_", "PYTHON", "GLIBC_TUNABLES", "GGML_", "LLAMA_")
SECRET = ("KEY", "TOKEN", "SECRET", "PASSW", "CREDENTIAL")  # cases are shown to others
UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def recorded_environment(
    lib: Path, traces: Path, keep: str, base: Mapping[str, str], program: Path | None = None, dump: bool = False
) -> dict[str, str]:
    """`base` plus what loads the recorder into `program`. What the user has in these variables stays, behind ours."""
    directory = os.path.abspath(traces)
    if len(os.fsencode(directory)) > LONGEST_DIRECTORY:
        raise UserError("The case directory's path is too long for the recorder: choose a shorter one with --case DIR.")
    lib = backends.library(lib, program, base) if program else lib
    lists = {"LD_PRELOAD": str(lib), **backends.environment(lib)}
    ours = {name: prepend(value, base.get(name, "")) for name, value in lists.items()}
    evidence = backends.settings(Path(directory).parent / DUMPS, base) if dump else {}
    return {**base, **ours, **evidence, **_sanitizers(base), DIRECTORY: directory, KEEP: keep_bytes(keep)}


def logged_heap(base: Mapping[str, str]) -> dict[str, str]:
    """What loads the log of the heap behind the recorder (native/heap/heap.c)."""
    return {"LD_PRELOAD": f"{base['LD_PRELOAD']}:{native.library().with_name('libgpudx-heap.so')}"}


def surroundings(base: Mapping[str, str]) -> dict[str, str]:
    """The variables of the user's that can change what a GPU program does; nothing that looks like a secret."""
    wanted = (*COMMON, *backends.prefixes())
    chosen = sorted(name for name in base if name.startswith(wanted) and not any(word in name for word in SECRET))
    return {name: base[name] for name in chosen}


def prepend(value: str, existing: str) -> str:
    """`value` in front of a list separated by colons, once."""
    rest = [entry for entry in existing.split(":") if entry and entry != value]
    return ":".join([value, *rest])


def keep_bytes(text: str) -> str:
    """What GPUDX_KEEP says: bytes of calls kept per thread as a plain number, or "all"."""
    if text.lower() == "all":
        return "all"
    size = size_of(text)
    if size < SMALLEST_KEEP:
        raise UserError(f'--keep {text} is not a size: give at least 1M, for example 32M or 1G, or "all".')
    return str(size)


def size_of(text: str) -> int:
    """Bytes of "32M" or "1G"; 0 for what is no size."""
    match = re.fullmatch(r"(\d{1,12})\s*([KMG]?)(?:I?B)?", text.strip().upper())
    return int(match[1]) * UNITS[match[2]] if match else 0


def _sanitizers(base: Mapping[str, str]) -> dict[str, str]:
    """A program built with AddressSanitizer refuses to start when another library was preloaded before its runtime.

    The recorder defines none of the functions that the runtime replaces, so the order does not matter here.
    """
    existing = base.get("ASAN_OPTIONS", "")
    if "verify_asan_link_order" in existing:
        return {}
    return {"ASAN_OPTIONS": ":".join(filter(None, [existing, "verify_asan_link_order=0"]))}
