"""What the symbol of a HIP kernel says of its parameters.

Vector types are one template, HIP_vector_type<float, 4u>, without padding between or behind its elements
(amd_detail/amd_hip_vector_types.h).
"""

from __future__ import annotations

import re

from gpudx.backends.cxx_symbols import SCALARS, Types

VECTOR = re.compile(r"HIP_vector_type<([\w ]+), ([1-4])u>")


def _vector(name: str) -> int | None:
    found = VECTOR.fullmatch(name)
    base = SCALARS.get(found[1]) if found else None
    return base * int(found[2]) if found and base else None


signature = Types(
    sizes={"__hip_bfloat16": 2, "hip_bfloat16": 2, "__hip_bfloat162": 4, "__hip_fp8_e4m3": 1, "__hip_fp8_e5m2": 1},
    floats={"__hip_bfloat16": "half", "hip_bfloat16": "half"},
    vector=_vector,
).signature
