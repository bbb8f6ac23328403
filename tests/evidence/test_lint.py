"""Every rule for sources: what it sees, and what it leaves alone. All sources are made up, but for the incident's."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.simulated import times

from gpudx.causes import every as every_cause
from gpudx.evidence.sources import every, lint
from gpudx.evidence.sources._functions import Source
from gpudx.model import Finding

ROOT = Path(__file__).resolve().parents[2]


def linted(*files: tuple[str, str], options: tuple[str, ...] = ()) -> tuple[Finding, ...]:
    return lint([Source(name, text, options) for name, text in files])


CL, CU, HIP = "k.cl", "k.cu", "k.hip"

# rule: files that are wrong, a part of the message, files that are right; each with the options of the compiler
RULES = {
    "exit-before-barrier": (
        [(CL, "kernel void k(int n) {\n int i = get_global_id(0);\n if (i >= n) return;\n barrier(CLK_LOCAL_MEM_FENCE);\n}")],
        "In k, threads with (i >= n) return at k.cl:3, before the barrier at k.cl:4",
        [(CU, """__global__ void uniform(int *x, int n) { if (n == 0) return; __syncthreads(); }
__global__ void behind(int *x, int n) { __syncthreads(); if (threadIdx.x > n) return; x[0] = 1; }
__global__ void by_block(int *x, int n) { if (blockIdx.x > n) return; __syncthreads(); }
__global__ void member(int *x, int n) { int y = threadIdx.x; if (blockIdx.y > n) return; __syncthreads(); x[y] = 0; }
__global__ void lambda(int *x) { auto f = [&](int i) { if (i > threadIdx.x) return 1; return 2; }; __syncthreads(); x[f(1)] = 0; }""")],
        (),
    ),
    "barrier-in-branch": (
        [(CU, "__global__ void k(int *x) {\n int lane = threadIdx.x % 32;\n if (lane < 4) {\n x[lane] = 0;\n __syncthreads();\n }\n}")],
        "In k, only threads with (lane < 4) reach the barrier at k.cu:5, which all threads of a group have to reach.",
        [(CU, "__global__ void k(int n) { for (int i = threadIdx.x; i < n; i += 64) { __syncthreads(); } if (n) __syncthreads(); }")],
        (),
    ),
    "barrier-without-fence": (
        [(CL, "kernel void k() {\n barrier(0);\n}")],
        "barrier(0) at k.cl:2 in k orders no memory",
        [(CL, "kernel void k() { barrier(CLK_LOCAL_MEM_FENCE); }")],
        (),
    ),
    "literal-warp-size": (
        [(HIP, "__global__ void k(int *x) {\n unsigned m = __ballot(x[0]);\n}")],
        "k at k.hip:2 keeps 32 of the 64 bits of __ballot",
        [
            (HIP, "__global__ void k(int *x) { unsigned long long m = __ballot(x[0]); "
                  "for (int d = 16; d > 0; d /= 2) x[0] += __shfl_down(x[1], d, 32); "
                  "for (int d = warpSize / 2; d > 0; d /= 2) x[0] += __shfl_down(x[1], d); }"),
            (CU, "__global__ void k(int *x) { unsigned m = __ballot(x[0]); }"),
        ],
        (),
    ),
    "nan-test-with-fast-math": (
        [(CL, "kernel void k(global float *x) {\n if (isnan(x[0])) x[0] = 0;\n}"),
         ("host.c", 'int f(void) { return build("-cl-fast-relaxed-math"); }')],
        "k tests for NaN at k.cl:2 (isnan), and -cl-fast-relaxed-math lets the compiler drop it.",
        [(CL, "kernel void k(global float *x) { if (isnan(x[0])) x[0] = 0; }")],
        (),
    ),
    "struct-layout": (
        [(CL, "struct params { int rows; float3 scale; };"), ("host.c", "struct params {\n  int rows;\n  float scale[3];\n};")],
        "struct params has 32 bytes at k.cl:1 and 16 at host.c:1: scale (float3) is at 16 with 16 bytes there, at 4 with 12 here.",
        [(CL, "typedef struct { uint n; float4 v; ushort tail[2]; } item; struct open { int *p; };"),
         ("host.c", "typedef struct { cl_uint count; cl_float4 v; uint16_t tail[2]; } item; struct open { double d; };")],
        (),
    ),
    "tile-in-local-memory": (
        [(CU, "__global__ void k(half *o) {\n  wmma::fragment<wmma::accumulator, 16, 16, 16, half> c;\n  half t[256];\n"
              "  wmma::store_matrix_sync(t, c, 16, wmma::mem_row_major);\n}")],
        "store_matrix_sync at k.cu:4 in k uses t, an array of a single thread",
        [(CU, "__global__ void k(half *o) { wmma::fragment<wmma::accumulator, 16, 16, 16, half> c; __shared__ half t[256]; "
              "wmma::store_matrix_sync(t, c, 16, wmma::mem_row_major); wmma::store_matrix_sync(o, c, 16, wmma::mem_row_major); }")],
        (),
    ),
    "tile-past-array": (
        [(CU, "constexpr int N = 8;\n__global__ void k() {\n  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> b;\n"
              "  __shared__ half t[N * 16];\n  wmma::load_matrix_sync(b, t, 24);\n}")],
        "reaches past its array: the tile takes 15 * 24 + 16 = 376 elements, t has 128 = 128: 248 elements (496 bytes) are past its end",
        [(CU, "__global__ void k(int n) { wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> b; __shared__ half t[256]; "
              "wmma::load_matrix_sync(b, t, 16); wmma::load_matrix_sync(b, t, n); }")],
        (),
    ),
}  # fmt: skip


def test_every_rule_is_tested() -> None:
    assert set(RULES) == set(every())
    assert all(rule.__doc__ for rule in every().values())


@pytest.mark.parametrize("rule", RULES)
def test_loud(rule: str) -> None:
    wrong, message, _, options = RULES[rule]
    found = [one for one in linted(*wrong, options=options) if one.id == f"lint-{rule}"]
    assert len(found) == 1 and message in found[0].message, found
    assert found[0].severity == "warning" and found[0].message.count(". ") == 0
    assert all(cause in every_cause() for cause in found[0].causes)


@pytest.mark.parametrize("rule", RULES)
def test_silent(rule: str) -> None:
    _, _, right, options = RULES[rule]
    assert [one.message for one in linted(*right, options=options)] == []


def test_a_shuffle_from_16_on() -> None:
    text = "#include <hip/hip_runtime.h>\n__device__ int sum(int v) {\n for (int d = 16; d; d >>= 1)\n v += __shfl_down(v, d);\n}"
    (found,) = linted(("sum.cpp", text))
    assert "sum at sum.cpp:3 begins its shuffles at a distance of 16" in found.message


def test_options_of_the_compiler() -> None:
    text = "__global__ void k(float *x) { if (x[0] != x[0] || y != y) x[0] = 0; }"
    assert len(linted(("k.cu", text), options=("-ffast-math",))) == 1
    assert not linted(("k.cu", text), options=("--use_fast_math",)), "nvcc promises nothing of NaN with it"


def test_the_incident_and_its_twin() -> None:
    path = ROOT / "incidents" / "cuda-wmma-local" / "main.cu"
    text = path.read_text()
    assert [one.id for one in lint([Source(str(path), text)])] == [
        "lint-tile-in-local-memory",
        "lint-tile-past-array",
        "lint-tile-in-local-memory",
    ]
    assert not lint([Source(str(path), text, defines={"TWIN": "1"})])


@pytest.mark.parametrize(
    "path", sorted((ROOT / "incidents").rglob("*.c*")), ids=lambda path: f"{path.parent.name}-{path.name}"
)
def test_other_incidents_are_not_accused(path: Path) -> None:
    if path.parent.name != "cuda-wmma-local":
        assert not lint([Source(str(path), path.read_text())])


WORDS = st.sampled_from(
    ["__global__", "__kernel", "void", "k", "(", ")", "{", "}", "[", "]", "<", ">", "if", "else", "for", "return", ";", "=", "1", "struct",
     "enum", ",", "barrier", "threadIdx", "fragment", "load_matrix_sync", "#if", "\n", "#else\n", "#endif\n", '"', "'", "/*", "R\"(", "\\"]
)  # fmt: skip


@given(st.lists(WORDS, max_size=80).map(" ".join) | st.text(max_size=200))
@settings(max_examples=times(300), deadline=None)
def test_any_text_is_read(text: str) -> None:
    linted(("k.cu", text), ("k.cl", text), ("k.hip", text))
