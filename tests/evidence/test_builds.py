"""What compilers tell of kernels: own lines in the compilers' formats, and real compilers where they are (GPUDX_NVCC, hipcc)."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from support.compilers import hipcc, nvcc

from gpudx.backends.occupancy import bound
from gpudx.diagnose.logs import Explained, explain
from gpudx.evidence.logs._fold import read_log
from gpudx.evidence.sources._compiled import read_sources
from gpudx.model import KernelBuild

ROOT = Path(__file__).resolve().parents[2]
INCIDENT = ROOT / "incidents" / "cuda-wmma-local"

VERBOSE = """ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '_Z4bigXIILi8EEvPf' for 'sm_80'
ptxas info    : Function properties for _Z4bigXIILi8EEvPf
    96 bytes stack frame, 40 bytes spill stores, 44 bytes spill loads
ptxas info    : Used 128 registers, used 2 barriers, 96 bytes cumulative stack size, 40960 bytes smem, 400 bytes cmem[0], 8 bytes cmem[2]
ptxas info    : Function properties for _Z6helperi
    16 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Compiling entry function 'plain' for 'sm_999'
ptxas info    : Function properties for plain
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 10 registers
"""


def told(text: str, folder: Path | None = None) -> Explained:
    log = read_log("build.log", [text.encode()])
    return explain([log], read_sources(log.sources, [folder] if folder else []))


def test_numbers_of_each_kernel() -> None:
    big, plain = told(VERBOSE).kernels
    assert big.build == KernelBuild(
        big.build.kernel, "_Z4bigXIILi8EEvPf", "sm_80", 128, 40, 44, 96, 40960, None, 408, 2
    )
    assert big.occupancy is not None
    assert (big.occupancy.waves, big.occupancy.most, big.occupancy.blocks) == (16, 64, 4)
    assert (plain.build.registers, plain.build.barriers, plain.occupancy) == (10, None, None)


def test_mixed_lines_of_two_compilers_are_not_attributed() -> None:
    text = (
        "ptxas info    : Compiling entry function 'a' for 'sm_90'\n"
        "ptxas info    : Compiling entry function 'b' for 'sm_90'\n"
        "ptxas info    : Used 255 registers\nptxas info    : Used 8 registers\n"
        "ptxas info    : Compiling entry function 'c' for 'sm_90'\nptxas info    : Used 9 registers\n"
    )
    assert [(one.build.kernel, one.build.registers) for one in told(text).kernels] == [
        ("a", None),
        ("b", None),
        ("c", 9),
    ]


def test_remarks_of_clang() -> None:
    at = "src/k.hip:7:1: remark: "
    tail = " [-Rpass-analysis=kernel-resource-usage]\n"
    names = (
        "Function Name: _Z1kPf",
        "    VGPRs: 40",
        "    ScratchSize [bytes/lane]: 16",
        "    VGPRs Spill: 3",
        "    LDS Size [bytes/block]: 512",
    )
    said = told("hipcc --offload-arch=gfx90a -c src/k.hip\n" + "".join(f"{at}{name}{tail}" for name in names))
    (one,) = said.kernels
    build = one.build
    assert (build.kernel, build.arch, build.source) == ("k(float*)", "gfx90a", "src/k.hip:7")
    assert (build.registers, build.stack_bytes, build.spill_stores, build.static_shared_bytes) == (40, 16, 12, 512)
    assert said.findings[0].id == "log-registers-spilled" and said.findings[0].severity == "warning"


WARNINGS = {
    "nvlink warning : Stack size for entry function '_Z4walkPi' cannot be statically determined": "log-stack-size-unknown",
    "ptxas warning : Value of threads per SM for entry _Z1kv is out of range. .minnctapersm will be ignored": "log-launch-bound-ignored",
    'a.cu(11): warning #549-D: variable "n" is used before its value is set': "log-uninitialised",
    "b.hip:3:5: warning: 'foo' attribute ignored [-Wignored-attributes]": "log-attribute-ignored",
}


@pytest.mark.parametrize("line", WARNINGS)
def test_warnings_that_are_faults_in_disguise(line: str) -> None:
    (found,) = told(f"{line}\n{line}\n").findings
    assert (found.id, found.severity, found.count) == (WARNINGS[line], "warning", 2)


def test_errors_of_compilers() -> None:
    (found,) = told('a.cu(8): error: identifier "x" is undefined\n').findings
    assert found.message == 'The compiler rejected a.cu:8: identifier "x" is undefined.'
    (found,) = told(
        "ptxas error   : Entry function 'k' uses too much shared data (0x14000 bytes, 0xc000 max)\n"
    ).findings
    assert "declares 81,920 bytes of shared memory, and 49,152 can be declared" in found.message


OPENCL = {
    "error: /root/.cache/pocl/kcache/tempfile_EC0.cl:1:35: use of undeclared identifier 'y'": "use of undeclared identifier 'y'",
    "<kernel>:1:2: error: expected ';' after expression": "expected ';' after expression",
}


@pytest.mark.parametrize("line", OPENCL)
def test_build_logs_of_opencl(line: str) -> None:
    (found,) = told(f"{line}\n").findings
    assert found.message == f"The compiler rejected line 1 of the program's source: {OPENCL[line]}."


def test_a_real_build_log_of_pocl() -> None:
    cl = pytest.importorskip("pyopencl")
    try:
        context = cl.create_some_context(interactive=False)
        cl.Program(context, "kernel void k(global int *x) {\n x[0] = y;\n}").build()
    except cl.LogicError as error:
        pytest.skip(f"needs an OpenCL device: {error}")
    except cl.RuntimeError as error:
        found = [one for one in told(str(error)).findings if one.id == "log-build-failed"]
        assert "line 2 of the program's source: use of undeclared identifier 'y'" in found[0].message


def test_findings_of_a_kernel_have_its_line(tmp_path: Path) -> None:
    (tmp_path / "a.cu").write_text("template <int N>\n__global__ void fold(float *x) {}\n")
    text = "nvcc -c a.cu\nptxas info : Compiling entry function '_Z4foldILi8EEvPf' for 'sm_80'\n"
    text += "ptxas info : Function properties for _Z4foldILi8EEvPf\n    8 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads\n"
    (found,) = told(text, tmp_path).findings
    assert any(fact.text == "fold<8> is declared at a.cu:2" for fact in found.evidence)


def test_ordinary_warnings_are_left_alone() -> None:
    text = 'a.cu(3): warning #177-D: variable "x" was declared but never referenced\na.cpp:3:1: warning: unused [-Wunused-variable]\n'
    assert not told(text).findings


def test_tile_warnings_without_sources() -> None:
    line = "warning: /opt/cuda/include/crt/mma.hpp(474): Warning: cannot perform wmma load or store on local memory\n"
    (found,) = told(line * 3).findings
    assert "A tensor-core store uses memory of a single thread" in found.message and found.count == 3
    assert told(line).diagnosis[0].guilty is None


BUDGET = "query_rows 2,048 + result 1,024 = 3,072 bytes for each warp of a block. query_rows must grow from 256 to 1,024 elements."


def build(*options: str) -> str:
    """The log of a real build of the incident, for two architectures."""
    archs = [word for sm in (80, 90) for word in ("-gencode", f"arch=compute_{sm},code=sm_{sm}")]
    command = [str(nvcc()), *options, "-Xptxas", "-v", *archs, "-c", "main.cu", "-o", os.devnull]
    done = subprocess.run(command, cwd=INCIDENT, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stderr
    return " ".join(command) + "\n" + done.stdout + done.stderr


def test_a_real_build_of_the_incident_is_explained() -> None:
    """Both sites, the tile that does not fit with its arithmetic, and the budget of each configuration."""
    said = told(build(), INCIDENT)
    assert {(one.message.split(" uses ")[0], one.count) for one in said.findings} == {
        ("load_matrix_sync at main.cu:70", 2),
        ("store_matrix_sync at main.cu:74", 2),
    }
    (entry,) = said.diagnosis
    assert (entry.cause, entry.status) == ("device-trap", "likely")
    assert entry.guilty is not None and entry.guilty.kernel == "score_tile"
    facts = " ".join(fact.text for fact in entry.evidence)
    assert (
        "the tile takes 15 * 64 + 16 = 976 elements, query_rows has 4 * 64 = 256: 720 elements (1,440 bytes)" in facts
    )
    assert BUDGET in entry.fix[0]
    assert {text.split(":")[0] for text in entry.fix[1:3]} == {"score_tile for sm_80", "score_tile for sm_90"}
    assert {(one.build.arch, one.build.source) for one in said.kernels} == {
        ("sm_80", "main.cu:60"),
        ("sm_90", "main.cu:60"),
    }


def test_a_real_build_of_the_twin_is_silent() -> None:
    said = told(build("-DTWIN"), INCIDENT)
    assert not said.findings and not said.diagnosis
    assert {one.build.static_shared_bytes for one in said.kernels} == {3072}


def test_the_bound_is_that_of_amds_own_compiler(tmp_path: Path) -> None:
    """clang tells its own bound: ours must be the same, for kernels of different sizes."""
    body = "float a[N]; for (int i = 0; i < N; i++) a[i] = x[i * 64]; for (int j = 0; j < x[0]; j++) for (int i = 0; i < N; i++) "
    body += "a[i] = a[i] * a[(i + 1) % N] + a[(i + 7) % N]; for (int i = 0; i < N; i++) x[i * 64] = a[i];"
    kernels = "".join(f"template __global__ void k<{n}>(float *);" for n in (8, 40, 60, 100))
    (tmp_path / "k.hip").write_text(
        f"#include <hip/hip_runtime.h>\ntemplate <int N> __global__ void k(float *x) {{ {body} }}\n{kernels}\n"
    )
    command = [
        str(hipcc()),
        "--offload-arch=gfx90a",
        "-Rpass-analysis=kernel-resource-usage",
        "-c",
        "k.hip",
        "-o",
        "k.o",
    ]
    env = os.environ | {"HIP_PLATFORM": "amd"}
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=200, check=False, env=env)
    own = [int(line.split(": ")[-1].split()[0]) for line in done.stderr.splitlines() if "Occupancy" in line]
    made = told(" ".join(command) + "\n" + done.stderr).kernels
    assert own and [one.occupancy.waves for one in made if one.occupancy] == own


def test_bounds() -> None:
    assert bound(KernelBuild("k", arch="sm_75", registers=64)).waves == 32  # type: ignore[union-attr]
    assert bound(KernelBuild("k", arch="sm_90", registers=255)).waves == 8  # type: ignore[union-attr]
    assert bound(KernelBuild("k", arch="sm_90a", registers=48, static_shared_bytes=100_000)).blocks == 2  # type: ignore[union-attr]
    assert bound(KernelBuild("k", arch="sm_90")) is None
