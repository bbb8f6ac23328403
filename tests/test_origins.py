"""From a faulting instruction to the argument: code that nvcc made, launches and reports written by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from support.compilers import compiled, nvcc
from support.cuda_world import CudaWorld
from support.sanitizer import invalid, report

from gpudx.diagnose import origins
from gpudx.diagnose.explained import explained
from gpudx.diagnose.sanitizer_faults import join
from gpudx.errors import UserError
from gpudx.evidence import device_functions
from gpudx.evidence import sass_slices as sass
from gpudx.evidence.compute_sanitizer import parse
from gpudx.facts import derive
from gpudx.lab import disassembly
from gpudx.model import Finding

SOURCE = """
struct View { float *data; int rows, cols; float *bias; };
__global__ void add(float *out, const float *a, const float *b) { int i = blockIdx.x*blockDim.x+threadIdx.x; out[i] = a[i] + b[i]; }
__global__ void gather(float *out, const float *table, const int *idx) { out[threadIdx.x] = table[idx[threadIdx.x]]; }
__global__ void field(View v, int stride) { v.bias[blockIdx.x*stride+threadIdx.x] = 1; }
__global__ void left(float *out, unsigned n) { unsigned i = blockIdx.x*blockDim.x+threadIdx.x; if (i < n) out[i-1] = 1; }
__global__ void huge(char *p, int row, int width) { p[row*width+threadIdx.x] = 1; }
__global__ void either(float *a, float *b, int f) { float *p = f ? a : b; p[threadIdx.x] = 1; }
struct Wide { char *p; long off; };
__global__ void wide(Wide w) { w.p[w.off + threadIdx.x] = 1; }
__global__ void table(float **t) { t[blockIdx.x][threadIdx.x] = 1; }
"""
SYMBOLS = {
    "add": "_Z3addPfPKfS1_", "gather": "_Z6gatherPfPKfPKi", "field": "_Z5field4Viewi", "left": "_Z4leftPfj", "huge": "_Z4hugePcii",
    "either": "_Z6eitherPfS_i", "table": "_Z5tablePPf", "wide": "_Z4wide4Wide",
}  # fmt: skip
H200 = {"capability_major": 9, "capability_minor": 0}
FAR, NEAR = 0x7F10_0000_0000, 0x7F20_0000_0000


@pytest.fixture(scope="module")
def cubin() -> Path:
    return compiled("k.cubin", "k.cu", SOURCE, nvcc(), "-arch=sm_90", "-cubin")


@pytest.fixture
def cuda(schema: str) -> CudaWorld:
    return CudaWorld(schema, device=H200)


@pytest.fixture
def found(cuda: CudaWorld, cubin: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Finding]:
    """The finding of an access of the n-th memory instruction of a kernel."""
    monkeypatch.setattr(origins, "_files", lambda facts: iter([cubin]))

    def one(kernel: str, address: int, *, nth: int = -1, verb: str = "write", size: int = 4, pc: int = 0, **more: int) -> Finding:
        pc = pc or _pcs(cubin, kernel)[nth]
        text = invalid(SYMBOLS[kernel], address, verb=verb, size=size, **more).replace("+0x90", f"+{pc:#x}")
        facts = derive(cuda.write(tmp_path / "1-0.gdx"))
        (finding,) = explained(join(parse(report(text)), [facts]), [facts])
        return finding

    return one


def _pcs(cubin: Path, kernel: str) -> list[int]:
    function = device_functions.find([cubin], SYMBOLS[kernel], H200, float("inf"))
    assert function
    try:
        code = sass.parse(disassembly.nvidia(function.code, 90))
    except UserError as error:
        pytest.skip(str(error))
    return [one.pc for one in code if one.memory]


def launched(world: CudaWorld, kernel: str, sizes: Sequence[int], values: Sequence[int | bytes], grid: int = 1, block: int = 32) -> None:
    world.launch(world.kernel(SYMBOLS[kernel], sizes), values, grid=(grid, 1, 1), block=(block, 1, 1))


def texts(finding: Finding) -> str:
    return "\n".join(one.text for one in finding.evidence)


def test_the_argument_is_the_one_that_the_code_uses_not_the_nearest(cuda: CudaWorld, found: Callable[..., Finding]) -> None:
    a, b = cuda.alloc(4096, at=FAR), cuda.alloc(4096, at=FAR + 8192)
    launched(cuda, "add", [8, 8, 8], [cuda.alloc(1 << 20, at=NEAR), a, b], grid=64)
    load = found("add", a + 4 * (60 * 32 + 3), nth=0, verb="read", block=60, thread=3)
    index = "blockDim.x * blockIdx.x + threadIdx.x = 1,923"
    assert load.site and load.site.argument == 1 and index in texts(load)
    assert "past the end of argument 1" in load.message


def test_an_address_that_the_code_does_not_compute_says_nothing(cuda: CudaWorld, found: Callable[..., Finding]) -> None:
    """The file was built again since: where the numbers do not fit, the code is not what ran."""
    a, b = cuda.alloc(4096, at=FAR), cuda.alloc(4096, at=FAR + 8192)
    launched(cuda, "add", [8, 8, 8], [cuda.alloc(1 << 20, at=NEAR), a, b], grid=64)
    load = found("add", a + 4 * (60 * 32 + 4), nth=0, verb="read", block=60, thread=3)
    assert load.access and load.access.origin is None and "machine code" not in texts(load)


def test_an_instruction_of_another_kind_says_nothing(cuda: CudaWorld, found: Callable[..., Finding]) -> None:
    launched(cuda, "add", [8, 8, 8], [cuda.alloc(4096), cuda.alloc(4096), cuda.alloc(4096)])
    store = found("add", FAR, nth=0, verb="write")
    wide = found("add", FAR, nth=0, verb="read", size=8)
    assert all(one.access and one.access.origin is None for one in (store, wide))


def test_an_index_from_memory_has_its_place_and_value(cuda: CudaWorld, found: Callable[..., Finding]) -> None:
    table, index = cuda.alloc(4096, at=FAR), cuda.alloc(4096, at=NEAR)
    launched(cuda, "gather", [8, 8, 8], [cuda.alloc(4096), table, index])
    load = found("gather", table - 4 * (1 << 31), nth=1, verb="read", thread=17)
    assert load.site and load.site.argument == 1 and load.causes[0] == "out-of-bounds-access"
    assert "argument 2 at element 17 held the index -2,147,483,648" in load.message


def test_a_null_field_of_a_structure(cuda: CudaWorld, found: Callable[..., Finding]) -> None:
    view = cuda.alloc(4096).to_bytes(8, "little") + bytes(16)
    launched(cuda, "field", [24, 4], [view, 100], grid=8)
    store = found("field", 4 * (7 * 100 + 5), block=7, thread=5)
    assert store.causes[0] == "null-pointer" and store.site and store.site.argument == 0
    assert "the pointer at byte 16 of argument 0" in store.message


def test_an_unsigned_index_below_zero(cuda: CudaWorld, found: Callable[..., Finding]) -> None:
    memory, other = cuda.alloc(4096, at=FAR), cuda.alloc(4096, at=NEAR)
    assert other
    launched(cuda, "left", [8, 4], [memory, 1024])
    store = found("left", memory + 4 * ((1 << 32) - 1))
    assert "went below zero: -1 became 4,294,967,295" in store.message and store.causes[0] == "out-of-bounds-access"


def test_a_product_past_2_to_the_31_and_one_that_fits(cuda: CudaWorld, found: Callable[..., Finding]) -> None:
    memory = cuda.alloc(3_000_000_000, at=FAR)
    launched(cuda, "huge", [8, 4, 4], [memory, 59_999, 50_000])
    wrapped = found("huge", memory + 59_999 * 50_000 + 7 - (1 << 32), size=1, thread=7)
    assert wrapped.causes[0] == "index-overflow" and "2,999,950,007" in wrapped.message


def test_a_large_index_that_does_not_wrap_is_no_overflow(cuda: CudaWorld, found: Callable[..., Finding]) -> None:
    memory = cuda.alloc(1 << 20, at=FAR)
    launched(cuda, "huge", [8, 4, 4], [memory, 20_000, 50_000])
    far = found("huge", memory + 20_000 * 50_000 + 7, size=1, thread=7)
    assert far.causes[0] == "out-of-bounds-access" and "overflow" not in far.message


def test_a_wide_or_unsigned_field_did_not_overflow(cuda: CudaWorld, found: Callable[..., Finding]) -> None:
    """3,000,000,000 is a legal index where the field has 64 bits, or is unsigned: the recorded bytes do not say which."""
    memory = cuda.alloc(1 << 20, at=FAR)
    for name, field in (("wide", (3_000_000_000).to_bytes(8, "little")), ("wide", ((1 << 32) + 7).to_bytes(8, "little"))):
        launched(cuda, name, [16], [memory.to_bytes(8, "little") + field])
        far = found(name, memory + int.from_bytes(field, "little") + 5, size=1, thread=5)
        assert far.causes[0] == "out-of-bounds-access" and "below zero" not in far.message and "overflow" not in far.message
        assert far.site and far.site.argument == 0


def test_the_path_that_the_thread_took_is_found_by_its_address(cuda: CudaWorld, found: Callable[..., Finding]) -> None:
    a, b = cuda.alloc(16, at=FAR), cuda.alloc(16, at=FAR + 4096)
    launched(cuda, "either", [8, 8, 4], [a, b, 0])
    store = found("either", b + 4 * 31, thread=31)
    assert store.site and store.site.argument == 1


def test_a_pointer_from_memory_names_the_table(cuda: CudaWorld, found: Callable[..., Finding]) -> None:
    launched(cuda, "table", [8], [cuda.alloc(4096)])
    store = found("table", 0x40, thread=16)
    assert store.site and store.site.argument == 0 and "a pointer read from the memory of argument 0" in store.message


def test_the_launch_whose_arguments_give_the_address(cuda: CudaWorld, found: Callable[..., Finding]) -> None:
    """Two buffers take turns: only one of them is at the address, and the first such launch did it."""
    a, b, kernel = cuda.alloc(4096, at=FAR), cuda.alloc(4096, at=FAR + 8192), cuda.kernel(SYMBOLS["left"], [8, 4])
    for memory in (a, b, a, b, a, b):
        cuda.launch(kernel, [memory, 1024])
    store = found("left", b + 4 * ((1 << 32) - 1))
    assert store.site and (store.site.launch, store.site.argument) == (2, 0)


def test_without_nvdisasm_one_sentence_says_what_to_install(
    cuda: CudaWorld, found: Callable[..., Finding], monkeypatch: pytest.MonkeyPatch
) -> None:
    launched(cuda, "left", [8, 4], [cuda.alloc(64, at=FAR), 1024])
    assert "machine code" in texts(found("left", FAR + 64, thread=17))
    monkeypatch.setattr(disassembly, "path_of", lambda tool: None)
    disassembly.nvidia.cache_clear()
    origins._Sliced.at.cache_clear()
    assert "pip install nvidia-cuda-nvdisasm" in texts(found("left", FAR + 64, thread=17, pc=0x90))
