"""What the symbol of a CUDA kernel says of its parameters.

Sizes of vector types are those of the CUDA C++ Programming Guide ("Built-in Vector Types").
"""

from __future__ import annotations

import re

from gpudx.backends.cxx_symbols import Types

VECTOR = re.compile(r"u?(char|short|int|longlong|long|float|double)([1-4])")
BASES = {"char": 1, "short": 2, "int": 4, "long": 8, "longlong": 8, "float": 4, "double": 8}


def _vector(name: str) -> int | None:
    found = VECTOR.fullmatch(name)
    return BASES[found[1]] * int(found[2]) if found else None


signature = Types(
    sizes={"__nv_bfloat16": 2, "__nv_bfloat162": 4, "__nv_fp8_e4m3": 1, "__nv_fp8_e5m2": 1},
    floats={"__nv_bfloat16": "half"},
    vector=_vector,
).signature
