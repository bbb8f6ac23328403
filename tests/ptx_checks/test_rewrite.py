"""Which statements of PTX get a check, what it is told of them, and that the result compiles where a compiler is."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.builds import ROOT

from gpudx.ptx_checks.rewrite import Rewritten, rewrite

RACES, NUMBERS = frozenset({"races"}), frozenset({"nan"})
HEAD = ".version 7.8\n.target sm_80\n.address_size 64\n"
TAIL = '\t.file 1 "/src/scale.cu"\n\t.file 2 "/cuda/include/cuda_fp16.hpp"\n'
REGISTERS = "\t.reg .pred %p<3>;\n\t.reg .b16 %rs<4>;\n\t.reg .b32 %r<9>;\n\t.reg .f32 %f<9>;\n\t.reg .b64 %rd<9>;\n"


def kernel(*lines: str) -> str:
    body = "".join(f"\t{line}\n" for line in lines)
    return (
        f"{HEAD}\n.global .align 4 .u32 total;\n.visible .entry scale(\n\t.param .u64 scale_param_0\n)\n{{\n{REGISTERS}"
        f"\tld.param.u64 %rd1, [scale_param_0];\n\tcvta.to.global.u64 %rd2, %rd1;\n{body}\tret;\n}}\n{TAIL}"
    )


def checked(*lines: str, checks: frozenset[str] = RACES) -> Rewritten:
    done = rewrite(kernel(*lines), checks)
    assert done is not None
    return done


def texts(done: Rewritten) -> list[str]:
    return [site.text for site in done.sites]


def compiles(done: Rewritten, folder: Path) -> None:
    ptxas = shutil.which("ptxas")
    if ptxas is None:
        return
    (folder / "module.ptx").write_text(done.text)
    ran = subprocess.run([ptxas, "-arch=sm_80", "-o", "/dev/null", folder / "module.ptx"], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr


def test_plain_accesses_of_global_memory_are_checked(tmp_path: Path) -> None:
    done = checked(
        "ld.global.u32 %r1, [%rd2];",
        "ld.global.nc.v2.f32 {%f1, %f2}, [%rd2+8];",
        "st.global.u32 [%rd2+16], %r1;",
        "st.u8 [%rd2], %rs1;",
        "st.global.u32 [total], %r1;",
    )
    assert len(done.sites) == 5 and done.kernels == ["scale"]
    assert done.text.count("call gdx_access") == 5
    compiles(done, tmp_path)


STEP = 26  # where a check is told how many bytes can be compared with what is in memory; 0: none


def steps(done: Rewritten) -> list[int]:
    return [int(how) >> STEP & 0xF for how in re.findall(r"st\.param\.b32 \[gdx_1\], (\d+);", done.text)]


def test_an_update_is_a_race_even_if_both_blocks_write_the_same() -> None:
    update = ("ld.global.u32 %r1, [%rd2];", "add.s32 %r2, %r1, 1;", "st.global.u32 [%rd2], %r2;")
    assert steps(checked(*update)) == [0, 0]


@pytest.mark.parametrize(
    "lines",
    [
        ("ld.global.u32 %r1, [%rd2];", "mov.u32 %r2, 1;", "st.global.u32 [%rd2], %r2;"),  # a flag
        ("ld.global.u32 %r1, [%rd2];", "st.global.u32 [%rd2+4], %r1;"),  # another place
        ("ld.global.u32 %r1, [%rd2];", "add.s64 %rd2, %rd2, 4;", "st.global.u32 [%rd2], %r1;"),  # the next place
    ],
)
def test_other_writes_of_what_is_there_already_are_no_races(lines: tuple[str, ...]) -> None:
    assert steps(checked(*lines)) == [0, 4]


def test_other_accesses_are_left_alone() -> None:
    lines = (
        "ld.shared.u32 %r1, [%r2];",
        "ld.local.u32 %r1, [%rd2];",
        "ld.volatile.global.u32 %r1, [%rd2];",
        "ld.acquire.gpu.u32 %r1, [%rd2];",
        "atom.global.add.u32 %r1, [%rd2], 1;",
        "red.global.add.u32 [%rd2], 1;",
        "bar.sync 0;",
    )
    assert rewrite(kernel(*lines), RACES) is None


def test_what_publishes_is_counted_before_it(tmp_path: Path) -> None:
    done = checked(
        "st.global.u32 [%rd2], %r1;",
        "membar.gl;",
        "fence.acq_rel.gpu;",
        "st.release.gpu.u32 [%rd2], %r1;",
        "atom.acq_rel.gpu.global.add.u32 %r2, [%rd2], 1;",
    )
    assert done.text.split("scale_param_0\n)")[1].count("call gdx_fence") == 4
    assert done.text.index("call gdx_fence;\n", done.text.index("scale(")) < done.text.index("membar.gl", done.text.index("scale("))
    compiles(done, tmp_path)


@pytest.mark.parametrize("fence", ["membar.cta;", "fence.acq_rel.cta;", "atom.global.add.u32 %r2, [%rd2], 1;"])
def test_what_does_not_reach_other_blocks_publishes_nothing(fence: str) -> None:
    done = checked("st.global.u32 [%rd2], %r1;", fence)
    assert "call gdx_fence" not in done.text.split("scale_param_0\n)")[1]


def test_a_predicate_guards_the_check_too(tmp_path: Path) -> None:
    done = checked("@%p1 st.global.u32 [%rd2], %r1;", "@!%p2 ld.global.u32 %r2, [%rd2];")
    body = done.text.split("scale_param_0\n)")[1]
    assert "@!%p1 bra $gdx_past_" in body and "@%p2 bra $gdx_past_" in body
    compiles(done, tmp_path)


def test_the_line_is_the_kernels_own() -> None:
    done = checked(
        ".loc 1 12 3",
        "ld.global.u32 %r1, [%rd2];",
        ".loc 2 549 1, function_name $L0, inlined_at 1 14 9",
        "st.global.u32 [%rd2], %r1;",
    )
    assert [(site.file, site.line) for site in done.sites] == [("/src/scale.cu", 12), ("/src/scale.cu", 14)]


def test_large_blocks_can_still_be_launched() -> None:
    """Calls take registers."""
    assert ".maxntid 1024, 1, 1\n{" in checked("st.global.u32 [%rd2], %r1;").text
    limited = kernel("st.global.u32 [%rd2], %r1;").replace(")\n{", ")\n.maxntid 256, 1, 1\n{")
    done = rewrite(limited, RACES)
    assert done is not None and done.text.count(".maxntid") == 1


def test_arithmetic_that_can_make_nan(tmp_path: Path) -> None:
    done = checked(
        "div.rn.f32 %f3, %f1, %f2;",
        "add.f32 %f1, %f1, %f2;",
        "{add.f16 %rs1,%rs1,%rs2;",
        "}",
        "{  cvt.rn.f16.f32 %rs3, %f1;}",
        "st.global.f32 [%rd2], %f3;",
        checks=NUMBERS,
    )
    assert len(done.sites) == 5 and done.text.count("call gdx_number") == 5
    compiles(done, tmp_path)


def test_operands_of_single_precision_are_reported(tmp_path: Path) -> None:
    done = checked("sub.f32 %f3, %f1, %f2;", "rcp.rn.f32 %f1, %f1;", "add.f32 %f2, %f2, 0f3F800000;", checks=NUMBERS)
    plain = [line.strip() for line in done.text.split("\n")]
    at = plain.index("mov.b32 gdx_raw0, %f1;")
    assert plain[at + 1 : at + 3] == ["mov.b32 gdx_raw1, %f2;", "mov.b64 gdx_told, {gdx_raw0, gdx_raw1};"]
    assert done.text.count("mov.b64 gdx_told, {") == 3
    compiles(done, tmp_path)
    assert "gdx_raw0" not in checked("fma.rn.f32 %f3, %f1, %f2, %f3;", checks=NUMBERS).text


def test_arithmetic_that_cannot_is_left_alone() -> None:
    lines = ("add.s32 %r1, %r2, %r3;", "cvt.f32.f16 %f1, %rs1;", "max.f32 %f1, %f2, %f3;", "mov.f32 %f1, 0f7FC00000;")
    assert rewrite(kernel(*lines), NUMBERS) is None


@pytest.mark.parametrize("text", ["", "not PTX", ".version 7.8\n.target sm_80\n", HEAD, HEAD + "{{{", kernel("ld.global.u32")])
def test_what_is_no_module_is_left_alone(text: str) -> None:
    assert rewrite(text, RACES | NUMBERS) is None


def test_nothing_is_rewritten_twice() -> None:
    done = checked("st.global.u32 [%rd2], %r1;")
    assert rewrite(done.text, RACES) is None


@pytest.mark.builds
@pytest.mark.skipif(shutil.which("nvcc") is None, reason="nvcc is not here")
def test_the_device_code_is_made_from_its_source() -> None:
    sys.path.insert(0, str(ROOT / "tools"))
    import ptx_device

    assert ptx_device.made() == (ptx_device.FOLDER / "device.ptx").read_text()


CALL = ("{ .param .b64 param0;", "st.param.b64 [param0], %rd2;", "call.uni ", "{name}, ", "(", "param0", ");", "}")


@pytest.mark.parametrize("name", ["free", "_Z4freePv", "freely"])
def test_memory_that_is_given_back_is_handed_on_in_order(tmp_path: Path, name: str) -> None:
    """As compilers write a call: on several lines."""
    lines = [line.replace("{name}", name) for line in CALL]
    declared = f".extern .func {name}(.param .b64 param0);\n"
    text = kernel("st.global.u32 [%rd2], %r1;", *lines).replace(".global .align 4 .u32 total;", f"{declared}.global .align 4 .u32 total;")
    done = rewrite(text, RACES)
    assert done is not None
    is_heap = name == "free"
    body = done.text.split("scale_param_0\n)")[1]
    assert body.count("call gdx_fence") == is_heap and done.uses_heap is is_heap
    if is_heap:
        assert body.index("call gdx_fence") < body.index("call.uni")
        compiles(done, tmp_path)


@pytest.mark.parametrize(
    ("statement", "publishes"),
    [
        ("barrier.cluster.arrive;", True),
        ("barrier.cluster.arrive.release.aligned;", True),
        ("barrier.cluster.arrive.relaxed;", False),
        ("barrier.cluster.wait;", False),
    ],
)
def test_blocks_of_a_cluster_publish_at_its_barrier(statement: str, publishes: bool) -> None:
    """PTX ISA, "barrier.cluster": without a word for it, arriving releases."""
    done = checked("st.global.u32 [%rd2], %r1;", statement)
    assert ("call gdx_fence" in done.text.split("scale_param_0\n)")[1]) == publishes
