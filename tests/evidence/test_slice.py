"""Backward slices over NVIDIA machine code: on listings written here, and on what nvcc makes for each architecture."""

from __future__ import annotations

import time

import pytest
from support.compilers import compiled, nvcc
from support.simulated import SLOW

from gpudx.errors import UserError
from gpudx.evidence import device_functions
from gpudx.evidence import sass_slices as sass
from gpudx.evidence.slices import Slicer
from gpudx.evidence.sums import Choice, Index, Load, Loop, Lost, Param, Sum, forms
from gpudx.lab import disassembly

BASE = 0x210  # sm_90
BLOCK, THREAD, WIDTH = (Sum.atom(Index(name, 0)) for name in ("blockIdx", "threadIdx", "blockDim"))
ITEM = BLOCK * WIDTH + THREAD


def listing(*lines: str) -> str:
    return "\n".join(f"        /*{16 * n:04x}*/                   {line} ;" for n, line in enumerate(lines))


def address(text: str, pc: int | None = None, sm: int = 90, base: int = BASE) -> Sum:
    """The address of the instruction at `pc`, of the last access if none is given."""
    code = sass.parse(text)
    machine = sass.Sass(code, sm, base)
    number = machine.at[pc] if pc is not None else max(n for n, one in enumerate(code) if one.memory)
    found = Slicer(machine).at(number, lambda read: machine.address(code[number], read) or Sum())
    assert found.terms
    return found


def param(offset: int) -> Sum:
    return Sum.atom(Param(offset))


# ---- sums ----


def test_sums_are_numbers_modulo_2_to_the_32() -> None:
    assert Sum.number(1 << 32) == Sum() and Sum.number(0xFFFF_FFFF) == Sum.number(-1)
    assert (param(0) + THREAD) * Sum.number(4) == THREAD.times(4) + param(0).times(4)
    assert (THREAD - THREAD).constant == 0 and (THREAD * Sum()).constant == 0


def test_a_sum_has_a_value_only_where_all_of_it_is_known() -> None:
    known = {Index("threadIdx", 0): 5, Param(8): 1 << 40}
    assert (THREAD.times(4) + param(8)).value(known.get) == 20 + (1 << 40)
    assert (THREAD + BLOCK).value(known.get) is None


# ---- listings ----


def test_a_pointer_and_an_index() -> None:
    text = listing(
        "S2R R0, SR_TID.X", "S2UR UR4, SR_CTAID.X", "LDC R9, c[0x0][RZ]", "IMAD R9, R9, UR4, R0", "LDC.64 R2, c[0x0][0x218]",
        "IMAD.WIDE R2, R9, 0x4, R2", "STG.E desc[UR4][R2.64+0x8], R5", "EXIT",
    )  # fmt: skip
    assert address(text) == param(8) + ITEM.times(4) + Sum.number(8)


def test_carries_do_not_matter() -> None:
    text = listing(
        "S2R R0, SR_TID.X", "ULDC.64 UR4, c[0x0][0x218]", "LDC.64 R4, c[0x0][0x210]", "IADD3 R3, P0, R0, UR4, RZ",
        "IADD3 R2, P1, R3, R4, RZ", "IADD3.X R3, R5, UR5, RZ, P1, P0", "STG.E.U8 desc[UR6][R2.64], R0",
    )  # fmt: skip
    assert address(text) == param(0) + param(8) + THREAD


def test_a_constant_made_of_two_halves() -> None:
    text = listing(
        "HFMA2.MMA R7, -RZ, RZ, 0, 2.384185791015625e-07", "S2R R0, SR_TID.X", "IMAD.WIDE R2, R0, R7, c[0x0][0x210]",
        "LDG.E R5, [R2.64]",
    )  # fmt: skip
    assert address(text) == param(0) + THREAD.times(4)


def test_an_index_from_memory() -> None:
    text = listing(
        "S2R R0, SR_TID.X", "IMAD.WIDE R2, R0, 0x4, c[0x0][0x220]", "LDG.E R3, [R2.64]", "IMAD.WIDE R4, R3, 0x4, c[0x0][0x218]",
        "LDG.E R5, [R4.64]",
    )  # fmt: skip
    loaded = Load(0x20, "global", 4, param(16) + THREAD.times(4))
    assert address(text) == param(8) + Sum.atom(loaded).times(4)


def test_a_loop_adds_to_a_pointer() -> None:
    text = listing(
        "LDC.64 R2, c[0x0][0x210]", "LDG.E R5, desc[UR4][R2.64]", "IADD3 R2, P0, R2, 0x400, RZ", "IADD3.X R3, RZ, R3, RZ, P0, !PT",
        "ISETP.GE.AND P1, PT, R2, R9, PT", "@!P1 BRA 0x10", "EXIT",
    ).replace("                   @!P1 BRA", "              @!P1 BRA")  # fmt: skip
    assert address(text, 0x10) == param(0) + Sum.atom(Loop(0x10, "R2"))


def test_a_register_that_a_path_skips() -> None:
    text = listing("LDC.64 R2, c[0x0][0x218]", "@P0 LDC.64 R2, c[0x0][0x210]", "STG.E desc[UR4][R2.64], R5")
    (choice,) = address(text).whole
    assert isinstance(choice, Choice) and set(choice.values) == {param(0), param(8)}
    assert set(forms(address(text))) == {param(0), param(8)}


def test_a_value_that_is_lost_is_said_to_be() -> None:
    shuffled = listing("LDC.64 R2, c[0x0][0x210]", "SHFL.IDX PT, R2, R2, 0x0, 0x1f", "STG.E desc[UR4][R2.64], R5")
    called = listing("LDC.64 R2, c[0x0][0x210]", "CALL.ABS.NOINC R20 0x0", "STG.E desc[UR4][R2.64], R5")
    jumped = listing("LDC.64 R2, c[0x0][0x210]", "BRX R4 -0x20", "STG.E desc[UR4][R2.64], R5")
    for text in (shuffled, called, jumped):
        assert all(isinstance(atom, Lost) for atom in address(text).whole), text


def test_a_call_that_leaves_the_register_alone() -> None:
    text = listing(
        "LDC.64 R2, c[0x0][0x210]", "CALL.REL.NOINC 0x40", "STG.E desc[UR4][R2.64], R5", "EXIT", "IADD3 R9, R9, 0x1, RZ",
        "RET.REL.NODEC R20 0x0",
    )  # fmt: skip
    assert address(text, 0x20) == param(0)


# ---- compilers ----

SOURCE = """
struct View { float *data; int rows, cols; float *bias; };
extern "C" {
__global__ void item(float *out, const float *in) { int i = blockIdx.x*blockDim.x+threadIdx.x; out[i] = in[i]; }
__global__ void gather(float *out, const float *table, const int *idx) { out[threadIdx.x] = table[idx[threadIdx.x]]; }
__global__ void field(View v, int stride) { v.bias[blockIdx.y*stride+threadIdx.x] = 1; }
__global__ void bytes(char *p, long off) { p[off + threadIdx.x] = 1; }
__global__ void table(float **t) { t[blockIdx.x][threadIdx.x] = 1; }
__global__ void either(float *a, float *b, int f) { float *p = f ? a : b; p[threadIdx.x] = 1; }
__global__ void extents(float *p) { p[gridDim.x*blockIdx.z + blockDim.y*threadIdx.z + gridDim.z] = 1; }
}
"""
LOADED_INDEX = Sum.atom(Load(0, "global", 4, param(16) + THREAD.times(4)))
WANTED = {
    "item": param(0) + ITEM.times(4),
    "field": param(16) + (Sum.atom(Index("blockIdx", 1)) * param(24) + THREAD).times(4),
    "bytes": param(0) + param(8) + THREAD,
    "extents": param(0) + (
        Sum.atom(Index("gridDim", 0)) * Sum.atom(Index("blockIdx", 2))
        + Sum.atom(Index("blockDim", 1)) * Sum.atom(Index("threadIdx", 2)) + Sum.atom(Index("gridDim", 2))
    ).times(4),
}  # fmt: skip


def _anywhere(value: Sum) -> Sum:
    """With loads that do not say where they are."""
    return value.replaced(
        lambda one: Sum.atom(Load(0, one.space, one.size, one.address, one.skip)) if isinstance(one, Load) else Sum.atom(one)
    )


# 80, 86 and 89 have one instruction set: https://docs.nvidia.com/cuda/cuda-binary-utilities
@pytest.mark.builds
@pytest.mark.parametrize("sm", [75, 80, 86, 89, 90, 100, 120] if SLOW else [75, 86, 90, 100, 120])
def test_what_nvcc_makes(sm: int) -> None:
    cubin = compiled("k.cubin", "k.cu", SOURCE, nvcc(), f"-arch=sm_{sm}", "-cubin")
    device = {"capability_major": sm // 10, "capability_minor": sm % 10}

    def stores(kernel: str, base: str = "ST") -> Sum:
        function = device_functions.find([cubin], kernel, device, time.monotonic() + 60)
        assert function and function.architecture == sm
        try:
            text = disassembly.nvidia(function.code, sm)
        except UserError as error:
            pytest.skip(str(error))
        code = sass.parse(text)
        pcs = [one.pc for one in code if one.memory and one.base.startswith(base)]
        return _anywhere(address(text, pcs[-1], sm, function.base))

    for kernel, wanted in WANTED.items():
        assert stores(kernel) == wanted, kernel
    assert stores("gather", "LDG") == param(8) + LOADED_INDEX.times(4)
    pointer = Load(0, "global", 8, param(0) + BLOCK.times(8))
    assert stores("table") == Sum.atom(pointer) + THREAD.times(4)
    assert set(forms(stores("either"))) == {param(0) + THREAD.times(4), param(8) + THREAD.times(4)}
