"""Which parameters say where a kernel works, from its PTX."""

from __future__ import annotations

import pytest

from gpudx.ptx_checks.parameters import Roles, loads, roles

HEAD = ".version 7.8\n.target sm_80\n.address_size 64\n"


def kernel(*lines: str, parameters: int = 3) -> str:
    declared = ",\n".join(f"\t.param .u64 k_param_{i}" for i in range(parameters))
    return f"{HEAD}.visible .entry k(\n{declared}\n)\n{{\n\t.reg .b32 %r<9>;\n" + "".join(f"\t{line}\n" for line in lines) + "}\n"


LOADS = (
    "ld.param.u64 %rd1, [k_param_0];",
    "cvta.to.global.u64 %rd2, %rd1;",
    "ld.param.u32 %r1, [k_param_1];",
    "ld.param.u32 %r2, [k_param_2];",
)


def of(*lines: str) -> Roles:
    found = roles(kernel(*LOADS, *lines), "k")
    assert found is not None
    return found


def test_a_number_that_is_only_stored_says_nothing_about_the_place() -> None:
    found = of("mul.lo.s32 %r3, %r1, %r1;", "st.global.u32 [%rd2], %r3;", "ret;")
    assert not found.says_where(1, 0) and not found.says_where(2, 0)


def test_an_offset_does() -> None:
    found = of("mul.wide.s32 %rd3, %r1, 4;", "add.s64 %rd4, %rd2, %rd3;", "st.global.u32 [%rd4], %r2;", "ret;")
    assert found.says_where(1, 0) and not found.says_where(2, 0)


def test_a_condition_does() -> None:
    found = of("setp.ge.s32 %p1, %r3, %r2;", "@%p1 bra $END;", "st.global.u32 [%rd2], %r1;", "$END:", "ret;")
    assert found.says_where(2, 0) and not found.says_where(1, 0)


def test_an_index_that_is_loaded_through_another_pointer_does() -> None:
    found = of(
        "ld.param.u64 %rd5, [k_param_1];",
        "ld.global.u32 %r3, [%rd5];",
        "mul.wide.s32 %rd3, %r3, 4;",
        "add.s64 %rd4, %rd2, %rd3;",
        "st.global.u32 [%rd4], %r2;",
        "ret;",
    )
    assert found.says_where(1, 0)


def test_a_number_that_grows_in_a_loop_is_followed_around_it() -> None:
    found = of(
        "mov.u64 %rd3, %rd2;",
        "$LOOP:",
        "st.global.u32 [%rd3], %r2;",
        "add.s64 %rd3, %rd3, %rd6;",
        "cvt.s64.s32 %rd6, %r1;",
        "bra.uni $LOOP;",
    )
    assert found.says_where(1, 0) and not found.says_where(2, 0)


def test_kernels_that_call_functions_or_are_not_there_are_not_judged() -> None:
    assert roles(kernel(*LOADS, "call helper, (%r1);", "ret;"), "k") is None
    assert roles(kernel(*LOADS, "ret;"), "other") is None


FIELDS = (
    "ld.param.v2.u32 {%r1, %r2}, [k_param_0+24];",
    "ld.param.u64 %rd1, [k_param_0+16];",
    "ld.param::entry.b64 %rd2, [k_param_1];",
    "ld.param.f64 %fd1, [k_param_2];",
)


def test_which_bytes_of_its_parameters_a_kernel_loads() -> None:
    found = loads(kernel(*FIELDS, "ret;"), "k")
    assert found is not None
    assert [found.may_be_address(0, at) for at in (0, 8, 16, 24)] == [False, False, True, False]
    assert found.may_be_address(1, 0) and not found.may_be_address(2, 0)


@pytest.mark.parametrize("line", ["mov.b64 %rd3, k_param_0;", "ld.param.u64 %rd3, [k_param_0+%rd1];"])
def test_a_kernel_that_uses_the_address_of_a_parameter_may_load_all_of_it(line: str) -> None:
    assert loads(kernel(*FIELDS, line, "ret;"), "k") is None and loads(kernel("ret;"), "other") is None
