"""Environment variables that change what GPUs, drivers or loaders do, as the program was started with them.

What a script sets later is not seen. Variables of gpudx itself, and what it put into others, are left out.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping

from gpudx import backends
from gpudx.model import Setting

LOADER = "ld.so(8)"
LONGEST = 300
GENERAL = {
    "LD_PRELOAD": ("these libraries are loaded before all others and may replace functions", LOADER),
    "LD_LIBRARY_PATH": ("libraries are taken from there first", LOADER),
    "LD_AUDIT": ("a library watches the loader", LOADER),
    "MALLOC_PERTURB_": ("fresh and freed memory of the host holds a pattern", "mallopt(3)"),
    "OMP_NUM_THREADS": ("how many threads OpenMP uses", "OpenMP specification, Environment Variables"),
}


def settings(environment: Mapping[str, str]) -> tuple[Setting, ...]:
    """Those of them that are set, by name; a name of its own wins over a pattern."""
    known = {**GENERAL, **backends.variables()}
    patterns = [name for name in known if name.endswith("*")]
    found = []
    for name, value in sorted(environment.items()):
        key = name if name in known else next((p for p in patterns if fnmatch.fnmatchcase(name, p)), "")
        if key and (value or name in backends.empty_counts()):
            found.append(Setting(name, value[:LONGEST], *known[key]))
    return tuple(found)
