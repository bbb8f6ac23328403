"""Built-in functions of OpenCL C that access memory, wait, or change something."""

from __future__ import annotations

import re
from dataclasses import dataclass

BARRIERS = {"barrier", "work_group_barrier"}
# A barrier of a sub-group orders some of the work-items, which ones is not known: like a fence, it is left to the program.
FENCES = {"mem_fence", "read_mem_fence", "write_mem_fence", "atomic_work_item_fence", "sub_group_barrier"}
ASYNC = {"async_work_group_copy", "async_work_group_strided_copy"}
ATOMIC = re.compile(r"atomic_(?!work_item_fence)\w+|atom_\w+")
OVERWRITES = re.compile(r"atom(?:ic)?_(?:xchg|init|store|exchange|flag_clear)")  # what was there before does not matter
# Called until they succeed, they make a lock: what is done while it is held is in order, though no barrier says so. (A compare-exchange
# whose loop changes the value that it expects updates one element, and orders nothing else.)
LOCKS = re.compile(
    r"ato\w+?_(cmpxchg|xchg|compare_exchange\w*|exchange\w*|flag_test_and_set\w*)$|atomic_flag_test_and_set\w*$"
)
GLOBAL_ONLY = re.compile(
    r"\w+\s*\(\s*CLK_(GLOBAL|IMAGE)_MEM_FENCE(\s*\|\s*CLK_(GLOBAL|IMAGE)_MEM_FENCE)*\s*(,[^()]*)?\)"
)
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

    @property
    def step(self) -> int:
        """Elements from one vector to the next."""
        return 4 if self.aligned and self.elements == 3 else self.elements


def vector_access(name: str) -> VectorAccess | None:
    match = VECTOR.fullmatch(name)
    if match is None or (not match[3] and not match[4]):
        return None
    return VectorAccess(match[1] == "vstore", bool(match[2]), bool(match[3]), int(match[4] or 1))


def global_only(barrier: str) -> bool:
    """Does a barrier, as it is written, order accesses to global memory and not those to local memory? (OpenCL C, 6.15.8)"""
    return GLOBAL_ONLY.fullmatch(barrier.strip()) is not None
