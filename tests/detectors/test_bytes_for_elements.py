"""Copies and fills that were passed elements instead of bytes; synthetic traces."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import device_images
from support.cuda_world import CudaWorld
from support.detecting import Look, Make
from support.synthetic import GLOBAL, Arg, World

from gpudx.model import Finding

ID = "bytes-for-elements"
SCALE = "_Z5scalePfi"
N = 1000


@pytest.fixture
def cuda(schema: str) -> CudaWorld:
    return CudaWorld(schema)


def of(found: list[Finding]) -> list[Finding]:
    return [one for one in found if one.id == ID]


def up(cuda: CudaWorld, memory: int, size: int) -> int:
    return cuda.call("cuMemcpyHtoD_v2", dst=memory, src=0x5000, size=size)


def test_a_copy_of_elements(cuda: CudaWorld, look: Look) -> None:
    memory = cuda.alloc(4 * N)
    copy = up(cuda, memory, N)
    cuda.launch(cuda.kernel(SCALE, [8, 4]), [memory, N])
    (one,) = of(look(cuda))
    assert one.severity == "error" and one.site is not None and one.site.number == copy + 1
    assert "wrote 1,000 of 4,000 bytes of memory #1" in one.message and "argument 1" in one.message


@pytest.mark.parametrize(
    ("size", "copied", "number"),
    [
        (4 * N, 4 * N, N),  # all of it
        (4 * N, N, N // 4),  # a quarter, and the kernel is told so
        (8 * N, N, N),  # floats do not have 8 bytes
        (4 * N, 2 * N, N),
    ],
)
def test_parts_that_are_meant_are_silent(cuda: CudaWorld, look: Look, size: int, copied: int, number: int) -> None:
    memory = cuda.alloc(size)
    up(cuda, memory, copied)
    cuda.launch(cuda.kernel(SCALE, [8, 4]), [memory, number])
    assert not of(look(cuda))


def test_a_buffer_that_is_written_in_parts_is_silent(cuda: CudaWorld, look: Look) -> None:
    memory, kernel = cuda.alloc(4 * N), cuda.kernel(SCALE, [8, 4])
    up(cuda, memory, N)
    up(cuda, memory + N, 3 * N)
    cuda.launch(kernel, [memory, N])
    assert not of(look(cuda))


def test_a_buffer_that_a_kernel_wrote_before_is_silent(cuda: CudaWorld, look: Look) -> None:
    memory, kernel = cuda.alloc(4 * N), cuda.kernel(SCALE, [8, 4])
    cuda.launch(kernel, [memory, N])
    up(cuda, memory, N)
    cuda.launch(kernel, [memory, N])
    assert not of(look(cuda))


def test_a_fill_of_elements_is_a_warning(cuda: CudaWorld, look: Look) -> None:
    memory = cuda.alloc(4 * N)
    cuda.call("cuMemsetD8_v2", dst=memory, count=N)
    cuda.launch(cuda.kernel(SCALE, [8, 4]), [memory, N])
    (one,) = of(look(cuda))
    assert one.severity == "warning"


@pytest.mark.parametrize(("copied", "loud"), [(64, True), (256, False), (128, False), (100, False)])
def test_a_variable_of_a_module(cuda: CudaWorld, look: Look, copied: int, loud: bool) -> None:
    asked = {"program": cuda.module, "size": 256, "texts": {"name": "c_taps"}}
    taps = cuda.create("cuModuleGetGlobal_v2", result=0x7E0000000000, **asked)
    cuda.create("cuModuleGetGlobal_v2", result=taps, **asked)
    memory = cuda.alloc(4096)
    up(cuda, taps, copied)
    cuda.launch(cuda.kernel(SCALE, [8, 4]), [memory, 1024])
    found = of(look(cuda))
    assert bool(found) is loud
    if found:
        assert found[0].severity == "warning" and "wrote 64 of 256 bytes of variable c_taps" in found[0].message


PTX = b"""
.version 8.0
.target sm_90
.address_size 64
.const .align 4 .b8 c_w[132];
.const .align 1 .b8 c_text[132];
.visible .entry blur() { ret; }
"""


def with_weights(cuda: CudaWorld, tmp_path: Path, *sizes: int, name: str = "c_w", ptx: bytes = PTX) -> None:
    """A program whose file has PTX with the variable, and which copies so many bytes into it, each time with a launch."""
    program = device_images.program(tmp_path / "app", ptx)
    cuda.header["exe"] = str(program).encode()
    weights = cuda.create("cuModuleGetGlobal_v2", result=0x7E0000000000, program=cuda.module, size=132, texts={"name": name})
    kernel, memory = cuda.kernel(SCALE, [8, 4]), cuda.alloc(4096)
    for size in sizes:
        up(cuda, weights, size)
        cuda.launch(kernel, [memory, 1024])


def test_copies_that_cut_an_element_of_a_variable(cuda: CudaWorld, look: Look, tmp_path: Path) -> None:
    with_weights(cuda, tmp_path, 7, 17, 31)
    (one,) = of(look(cuda, "exit", exit_code=1))
    assert one.severity == "error" and one.count == 3 and one.site is not None and one.site.call == "cuMemcpyHtoD_v2"
    assert "wrote 7 bytes of variable c_w, whose elements have 4" in one.message and "7 elements are 28 bytes" in one.message
    assert [found.severity for found in of(look(cuda, "passed"))] == ["warning"]


@pytest.mark.parametrize(
    ("sizes", "name"),
    [
        ((28, 68, 124), "c_w"),  # whole elements
        ((40, 101), "c_w"),  # 101 elements do not fit: no count of elements
        ((7, 17), "c_text"),  # characters
        ((7, 17), "c_other"),  # not in the PTX
    ],
)
def test_parts_of_variables_that_are_meant(
    cuda: CudaWorld, look: Look, tmp_path: Path, sizes: tuple[int, ...], name: str
) -> None:
    with_weights(cuda, tmp_path, *sizes, name=name)
    assert not of(look(cuda, "exit", exit_code=1))


def test_the_rest_of_a_variable_written_by_another_copy_is_silent(cuda: CudaWorld, look: Look, tmp_path: Path) -> None:
    with_weights(cuda, tmp_path, 7)
    up(cuda, 0x7E0000000000 + 7, 21)
    assert not of(look(cuda, "exit", exit_code=1))


def test_a_copy_of_elements_after_a_fill_of_the_whole_is_a_warning(cuda: CudaWorld, look: Look) -> None:
    kernel = cuda.kernel(SCALE, [8, 4])
    for _ in range(3):
        memory = cuda.alloc(4 * N)
        cuda.call("cuMemsetD8_v2", dst=memory, count=4 * N)
        up(cuda, memory, N)
        cuda.launch(kernel, [memory, N])
    found = of(look(cuda))
    assert found and sum(one.count for one in found) == 3 and {one.severity for one in found} == {"warning"}
    assert any("but for a fill before the copy" in evidence.text for evidence in found[0].evidence)


def test_a_fill_after_the_copy_is_silent(cuda: CudaWorld, look: Look) -> None:
    memory = cuda.alloc(4 * N)
    up(cuda, memory, N)
    cuda.call("cuMemsetD8_v2", dst=memory, count=4 * N)
    cuda.launch(cuda.kernel(SCALE, [8, 4]), [memory, N])
    assert not of(look(cuda))


def _histogram(world: World, *sizes: int, items: int = N, type_: str = "uint*") -> None:
    kernel, memory = world.kernel("prefix", [Arg(type_, "p", GLOBAL)]), world.buffer(4 * N)
    world.set_arg(kernel, 0, memory)
    world.launch(kernel, (items,))
    for size in sizes:
        world.call("clEnqueueReadBuffer", queue=world.queue, buffer=memory, blocking=1, size=size, ptr=0x7F0000001000)


def test_a_read_of_elements(world: Make, look: Look) -> None:
    process = world()
    _histogram(process, N)
    (one,) = of(look(process, "exit", exit_code=1))
    assert one.severity == "error" and "read back 1,000 of 4,000 bytes of buffer #1" in one.message
    (passed,) = of(look(process, "passed"))
    assert passed.attribution == "probable" and passed.certainty == "observed"  # likely at most


def test_a_read_of_elements_after_a_launch_that_is_rounded_up(world: Make, look: Look) -> None:
    process = world()
    kernel, memory = process.kernel("shade", [Arg("float*", "p", GLOBAL), Arg("int", "w"), Arg("int", "h")]), process.buffer(4 * N)
    process.set_arg(kernel, 0, memory)
    process.set_arg(kernel, 1, 40, size=4)
    process.set_arg(kernel, 2, 25, size=4)
    process.launch(kernel, (48, 32), (16, 16))
    process.call("clEnqueueReadBuffer", queue=process.queue, buffer=memory, blocking=1, size=N, ptr=0x7F0000001000)
    (one,) = of(look(process, "exit", exit_code=1))
    assert "has 1,536 work-items, one for each element of buffer #1 and some to fill groups" in one.evidence[1].text


@pytest.mark.parametrize(
    ("sizes", "items", "type_"),
    [
        ((4 * N,), N, "uint*"),  # all of it
        ((N // 2,), N, "uint*"),  # another part
        ((N, 4 * N), N, "uint*"),  # a part, and later all of it
        ((N,), N // 4, "uint*"),  # the kernel writes only this part
        ((N,), N + 24, "uint*"),  # larger, and not by a number that it is passed
        ((N,), N, "double*"),  # elements of another size
    ],
)
def test_reads_that_are_meant_are_silent(world: Make, look: Look, sizes: tuple[int, ...], items: int, type_: str) -> None:
    process = world()
    _histogram(process, *sizes, items=items, type_=type_)
    assert not of(look(process, "exit", exit_code=1))
