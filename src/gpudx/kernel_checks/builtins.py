"""Built-in functions of OpenCL C that access memory, wait, or change something."""

from __future__ import annotations

import re
from dataclasses import dataclass

BARRIERS = {"barrier", "work_group_barrier"}
FENCES = {"mem_fence", "read_mem_fence", "write_mem_fence", "atomic_work_item_fence"}
ASYNC = {"async_work_group_copy", "async_work_group_strided_copy"}
ATOMIC = re.compile(r"atomic_(?!work_item_fence)\w+|atom_\w+")
OVERWRITES = re.compile(r"atom(?:ic)?_(?:xchg|init|store|exchange|flag_clear)")  # what was there before does not matter
IMPURE = re.compile(
    r"atom|vstore|async|barrier|work_group|sub_group|printf|write_|prefetch|wait_group|enqueue|mem_fence|read_mem|fract|frexp|modf|remquo"
    r"|sincos|lgamma_r|commit_|reserve_|retain|release"
)
POINTER_OUT = {"fract", "frexp", "modf", "remquo", "sincos", "lgamma_r"}
VECTOR = re.compile(r"(vload|vstore)(a)?(?:_(half))?(2|3|4|8|16)?(?:_rt[ezpn])?")


@dataclass(frozen=True)
class VectorAccess:
    stores: bool
    aligned: bool  # vloada_half3 steps by four elements
    half: bool
    elements: int


def vector_access(name: str) -> VectorAccess | None:
    match = VECTOR.fullmatch(name)
    if match is None or (not match[3] and not match[4]):
        return None
    return VectorAccess(match[1] == "vstore", bool(match[2]), bool(match[3]), int(match[4] or 1))
