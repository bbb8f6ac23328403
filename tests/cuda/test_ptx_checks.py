"""CUDA kernels that check themselves: the driver gets rewritten PTX, and what it reports is read. The driver is a fake: that real
kernels report races is tested on a GPU (test_ptx_checks_on_gpu.py)."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from unittest.mock import MagicMock

import pytest
from cuda_kit import Kit, Ran, decode, of

from gpudx.diagnose import diagnose, ptx_check_runs, ptx_shared_reports
from gpudx.facts import derive
from gpudx.facts.misses import Miss
from gpudx.lab import kernel_checked
from gpudx.model import Finding, Outcome

PTX = """// kernel scale 8 4
.version 7.8
.target sm_80
.address_size 64
.visible .entry scale(
    .param .u64 scale_param_0
)
{
    .reg .b32 %r<3>;
    .reg .b64 %rd<3>;
    .loc 1 7 1
    ld.param.u64 %rd1, [scale_param_0];
    ld.global.u32 %r1, [%rd1];
    .loc 1 9 1
    st.global.u32 [%rd1], %r1;
    ret;
}
.file 1 "/src/scale.cu"
"""
RACE = 4  # kernel_checks/prelude.py


def ran(kit: Kit, tmp_path: Path, text: str, **more: str) -> Ran:
    """The program with its PTX rewritten while it runs."""
    (tmp_path / "module.ptx").write_text(text)
    with kernel_checked.service(kernel_checked.wanted("ptx:races"), tmp_path) as env:
        return kit.run([kit.program("ptx_library"), tmp_path / "module.ptx"], env={**env, "GPUDX_SERIALISE": "1", **more})


def found(done: Ran, tmp_path: Path) -> list[Finding]:
    return list(ptx_check_runs.findings([derive(done.trace())], tmp_path))


def words(address: int) -> str:
    """A race that block 2 reports: it writes what block 1 has written, by the first and the second statement."""
    report = [RACE, 2, 0xFFFFFFFF, 2, 4, 3, address & 0xFFFFFFFF, address >> 32, *[0] * 8, 5, 0, 0, 2, 0, 0, 1, 1]
    return " ".join(map(str, report))


def test_the_driver_gets_code_that_checks_itself(kit: Kit, tmp_path: Path) -> None:
    done = ran(kit, tmp_path, PTX)
    plain = kit.run([kit.program("ptx_library"), tmp_path / "module.ptx"], recorded=False)
    assert done.seen == plain.seen
    assert "call gdx_access" in (tmp_path / "kernel-checks/programs/1.ptx").read_text()
    assert found(done, tmp_path) == []


def test_a_reported_race_is_joined_to_launch_argument_and_line(kit: Kit, tmp_path: Path) -> None:
    first = ran(kit, tmp_path, PTX)
    (allocated,) = of(decode(first.trace()), "cuMemAlloc_v2")
    done = ran(kit, tmp_path, PTX, FAKE_CUDA_REPORT=words(allocated.words["result"] + 8))
    if of(decode(done.trace()), "cuMemAlloc_v2")[0].words["result"] != allocated.words["result"]:
        done = ran(kit, tmp_path, PTX, FAKE_CUDA_REPORT=words(of(decode(done.trace()), "cuMemAlloc_v2")[0].words["result"] + 8))
    (finding,) = found(done, tmp_path)
    assert finding.causes == ("race-in-kernel",) and finding.certainty == "observed"
    assert finding.site is not None and (finding.site.kernel, finding.site.launch) == ("scale", 1)
    assert finding.access is not None and finding.access.block == (2, 0, 0) and finding.access.source == "/src/scale.cu:9"
    assert "race on" in finding.message and "scale.cu:7" in finding.message


def test_a_kernel_that_works_in_place_is_told_apart() -> None:
    """The same buffer for what is read and what is written: neither fences nor atomic operations help."""
    facts = MagicMock()
    facts.launches.pointers.of.return_value = [0, 1, 2]
    facts.launches.pointers.index, facts.launches.pointers.object = [0, 1, 2], [7, 7, 8]
    race = MagicMock(facts=facts, position=3)
    assert ptx_check_runs._given_twice(race, Miss("inside", "", 0, 7)) == (0, 1)
    assert ptx_check_runs._given_twice(race, Miss("inside", "", 2, 8)) == ()
    assert ptx_check_runs._given_twice(race, Miss("wild", "")) == ()


PTX_WITH_TOTAL = PTX.replace(".visible", ".global .align 4 .u32 total;\n.visible").replace("[%rd1], %r1", "[total], %r1")
OUTSIDE = 0x7FFF00001000  # no recorded allocation
CALL = "{\n.param .b64 param0;\nst.param.b64 [param0], %rd1;\ncall.uni\nfree,\n(\nparam0\n);\n}\n"
HEAP = PTX.replace("    ret;", f"{CALL}    ret;").replace(".visible", ".extern .func free(.param .b64 param0);\n.visible")


def test_memory_of_the_device_heap_is_not_judged(kit: Kit, tmp_path: Path) -> None:
    """A block may be given what another one gave back."""
    assert found(ran(kit, tmp_path, HEAP, FAKE_CUDA_REPORT=words(OUTSIDE)), tmp_path) == []


def test_a_variable_of_a_module_is_judged_and_named(kit: Kit, tmp_path: Path) -> None:
    (finding,) = found(ran(kit, tmp_path, PTX_WITH_TOTAL, FAKE_CUDA_REPORT=words(OUTSIDE)), tmp_path)
    assert "race on the device variable total: block (2,0,0)" in finding.message


def test_code_without_ptx_runs_as_it_is_and_that_is_said(kit: Kit, tmp_path: Path) -> None:
    done = ran(kit, tmp_path, "kernel scale 8 4\n")
    assert done.returncode == 0
    assert any("no PTX" in text for text in ptx_check_runs.not_checked([derive(done.trace())]))


@pytest.mark.parametrize("env", [{"FAKE_CUDA_LAZY": "optimized"}, {"FAKE_CUDA_REFUSE": "cuLibraryLoadData:1:218"}])
def test_code_that_compiles_only_without_optimization_is_checked(kit: Kit, tmp_path: Path, env: dict[str, str]) -> None:
    """Drivers compile a library when it is loaded, or when a kernel of it is asked for."""
    done = ran(kit, tmp_path, PTX_WITH_TOTAL, FAKE_CUDA_REPORT=words(OUTSIDE), **env)
    plain = kit.run([kit.program("ptx_library"), tmp_path / "module.ptx"], recorded=False)
    assert done.seen == plain.seen and len(found(done, tmp_path)) == 1
    assert not any("refused" in text for text in ptx_check_runs.not_checked([derive(done.trace())]))


def test_code_that_the_driver_refuses_is_loaded_as_it_is(kit: Kit, tmp_path: Path) -> None:
    done = ran(kit, tmp_path, PTX_WITH_TOTAL, FAKE_CUDA_REPORT=words(OUTSIDE), FAKE_CUDA_LAZY="all")
    plain = kit.run([kit.program("ptx_library"), tmp_path / "module.ptx"], recorded=False)
    assert done.seen == plain.seen and found(done, tmp_path) == []
    left = ptx_check_runs.not_checked([derive(done.trace())])
    assert "1 module ran without checks: the driver refused the rewritten code (the module of kernel scale)." in left


# ---- shared memory and warps ----

SHARED = PTX.replace(
    "    ld.global.u32 %r1, [%rd1];\n    .loc 1 9 1\n    st.global.u32 [%rd1], %r1;\n",
    "    .reg .pred %p<2>;\n    .shared .align 4 .b8 bins[128];\n    mov.u32 %r1, %tid.x;\n    st.shared.u32 [bins], %r1;\n    .loc 1 9 1\n"
    "    atom.shared.add.u32 %r2, [bins], 1;\n    setp.eq.u32 %p1, %r1, 0;\n    @%p1 bra $MEET;\n    .loc 1 12 1\n"
    "    shfl.sync.idx.b32 %r2, %r1, 0, 31, -1;\n$MEET:\n    .loc 1 13 1\n    st.shared.u32 [bins+8], %r2;\n",
)
UNINITIALIZED, BARRIER = 3, 5


def report(kind: int, site: int, how: int, offset: int, more: int) -> str:
    numbers = [kind, site, 0xFFFFFFFF, how, 4, 3, offset, 0, *[0] * 8, 5, 0, 0, 2, 0, 0, more & 0xFFFFFFFF, more >> 32]
    return " ".join(map(str, numbers))


def reported(kit: Kit, tmp_path: Path, words: str) -> list[Finding]:
    (tmp_path / "module.ptx").write_text(SHARED)
    with kernel_checked.service(kernel_checked.wanted("ptx:shared"), tmp_path) as env:
        more = {**env, "GPUDX_SERIALISE": "1", "FAKE_CUDA_REPORT": words}
        return found(kit.run([kit.program("ptx_library"), tmp_path / "module.ptx"], env=more), tmp_path)


def test_a_race_for_shared_memory_names_both_statements(kit: Kit, tmp_path: Path) -> None:
    (one,) = reported(kit, tmp_path, report(RACE, 2, 6, 1024, 1 | 40 << 32))
    assert one.causes == ("race-in-kernel",) and one.severity == "error" and one.attribution == "this"
    assert "updates atomically 4 bytes at scale.cu:9 that thread 40 of the block writes at scale.cu:7" in one.message


def test_a_read_of_unwritten_shared_memory_is_a_warning_until_the_run_fails(kit: Kit, tmp_path: Path) -> None:
    (one,) = reported(kit, tmp_path, report(UNINITIALIZED, 2, 1, 1024, 0))
    assert one.causes == ("read-before-write",) and one.severity == "warning" and one.attribution == "probable"
    failed = diagnose([one], Outcome("exit", "The program exited with status 1.", 1))
    assert [(d.cause, d.status) for d in failed] == [("read-before-write", "likely")]
    assert diagnose([one], Outcome("passed", "The program ended normally.", 0)) == ()


def test_absent_lanes_are_named_with_the_branch(kit: Kit, tmp_path: Path) -> None:
    (one,) = reported(kit, tmp_path, report(BARRIER, 4, 0, 0x80000007, 3))
    assert one.causes == ("barrier-misuse",) and one.site is not None and one.site.launch == 1
    assert "executes shfl.sync.idx.b32 at scale.cu:12 with a mask that names 4 lanes" in one.message and "at scale.cu:9" in one.message
    assert any("lanes 0 to 2 and 31 of its warp" in e.text for e in one.evidence)


@pytest.mark.parametrize(
    ("text", "more", "said"),
    [
        ("sub.f32 %f8, %f7, %f6;", 0xFF800000_FF800000, "-inf - -inf"),
        ("div.rn.f32 %f1, %f2, %f3;", 0, "0 / 0"),
        ("add.f32 %f1, %f2, 0fFF800000;", 0x7F800000, "inf + -inf"),
        ("sqrt.rn.f32 %f1, %f2;", 0xBF800000_BF800000, "the square root of -1"),
        ("fma.rn.f32 %f1, %f2, %f3, %f4;", 0, ""),
        ("sub.f64 %fd1, %fd2, %fd3;", 0x7FF8000000000000, ""),
        ("sub.f32 %f8, %f7, %f6;", 0x7FFFFFFF, ""),  # as older runs reported it: the NaN itself
    ],
)
def test_operands_in_words(text: str, more: int, said: str) -> None:
    assert ptx_check_runs._computed(SimpleNamespace(site=SimpleNamespace(text=text), more=more)) == said  # type: ignore[arg-type]


def test_a_shuffle_of_a_lane_that_is_gone_is_a_warning_until_the_run_fails(kit: Kit, tmp_path: Path) -> None:
    whole = SHARED.replace("    @%p1 bra $MEET;\n", "").replace("$MEET:\n", "")
    (tmp_path / "module.ptx").write_text(whole)
    with kernel_checked.service(kernel_checked.wanted("ptx:shared"), tmp_path) as env:
        more = {**env, "GPUDX_SERIALISE": "1", "FAKE_CUDA_REPORT": report(UNINITIALIZED, 3, 1, 20, 0)}
        (one,) = found(kit.run([kit.program("ptx_library"), tmp_path / "module.ptx"], env=more), tmp_path)
    assert one.causes == ("barrier-misuse",) and one.severity == "warning" and one.attribution == "probable"
    assert "reads the value of lane 20 with shfl.sync.idx.b32 at scale.cu:12" in one.message


@pytest.mark.parametrize(
    ("block", "local", "lane", "threads"),
    [
        ((208, 1, 1), (192, 0, 0), 16, 208),  # the last of 7 warps has 16 lanes
        ((208, 1, 1), (192, 0, 0), 15, 0),
        ((208, 1, 1), (32, 0, 0), 16, 0),  # a whole warp: the lane has left the kernel
        ((16, 13, 1), (0, 12, 0), 20, 208),
        ((256, 1, 1), (224, 0, 0), 16, 0),
    ],
)
def test_a_lane_that_a_block_never_had(block: tuple[int, ...], local: tuple[int, ...], lane: int, threads: int) -> None:
    facts = MagicMock()
    facts.launches.grid.return_value = ((64, 1, 1), block)
    assert ptx_shared_reports._never_there(MagicMock(facts=facts, local=local, offset=lane)) == threads
