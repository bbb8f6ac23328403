"""Copies that fill a buffer row by row, in steps that are shorter than a row; and copies that overlap on purpose."""

from __future__ import annotations

import pytest
from support.cuda_world import CudaWorld
from support.detecting import Look, Make
from support.synthetic import GLOBAL, Arg, World

from gpudx.diagnose import diagnose
from gpudx.model import Finding, Outcome

ID, ROWS, WIDTH = "rows-overlap", 40, 192


def fill(world: World, *, step: int, size: int = ROWS * WIDTH, rows: int = ROWS, first: int = 0, caller: int = 0x400100) -> int:
    target, row = world.buffer(size), world.buffer(WIDTH)
    world.call("clEnqueueFillBuffer", queue=world.queue, buffer=target, pattern_size=4, offset=0, size=size)
    for number in range(rows):
        copy(world, row, target, first + number * step, caller)
    return target


def copy(world: World, source: int, target: int, offset: int, caller: int = 0x400100) -> int:
    return world.call(
        "clEnqueueCopyBuffer",
        queue=world.queue,
        src_buffer=source,
        dst_buffer=target,
        src_offset=0,
        dst_offset=offset,
        size=WIDTH,
        caller=caller,
    )


def of(found: list[Finding]) -> list[Finding]:
    return [one for one in found if one.id == ID]


def test_rows_that_overlap_in_a_buffer_for_all_of_them(world: Make, look: Look) -> None:
    process = world()
    fill(process, step=160)
    (finding,) = of(look(process))
    assert "40 calls of clEnqueueCopyBuffer copy 192 bytes each" in finding.message and "every 160 bytes" in finding.message
    assert "overwrites the last 32 bytes" in finding.message
    texts = [one.text for one in finding.evidence]
    assert texts[0].startswith("the buffer has 7,680 bytes = 40 x 192") and "the last 1,248 bytes" in texts[1]
    assert texts[2].startswith("160 = 40 x 4, the number of rows times 4 bytes; a row has 48 values")
    assert diagnose([finding], Outcome("passed", ""))[0].status == "likely", "overlapping copies may be meant"


def test_copies_that_overlap_on_purpose_are_not(world: Make, look: Look) -> None:
    """Rows side by side; windows in a buffer of their own size; a part of a larger buffer; too few; unequal steps; a second pass."""
    process = world()
    fill(process, step=WIDTH)
    fill(process, step=160, size=39 * 160 + WIDTH)
    fill(process, step=160, size=65536)
    fill(process, step=160, rows=6, size=6 * WIDTH)
    ring, row = process.buffer(ROWS * WIDTH), process.buffer(WIDTH)
    for number in range(ROWS):
        copy(process, row, ring, number % 20 * 160)
    assert not of(look(process))


def test_a_buffer_that_something_else_writes_is_not(world: Make, look: Look) -> None:
    process = world()
    target = fill(process, step=160)
    kernel = process.kernel("finish", [Arg("float*", "data", GLOBAL)])
    process.set_arg(kernel, 0, target)
    process.launch(kernel, (64,))
    assert not of(look(process))


@pytest.mark.parametrize(("between", "loud"), [(False, True), (True, False)])
def test_rows_that_a_kernel_used_before_they_are_overwritten_are_not(schema: str, look: Look, between: bool, loud: bool) -> None:
    """All copies of a CUDA program have one caller, the runtime."""
    cuda = CudaWorld(schema)
    target, kernel = cuda.alloc(ROWS * WIDTH), cuda.kernel("_Z4takePKfi", [8, 4])
    for number in range(ROWS):
        cuda.call("cuMemcpyHtoD_v2", dst=target + number * 160, src=0x5000, size=WIDTH, caller=0x400100)
        if between:
            cuda.launch(kernel, [target, number])
    cuda.launch(kernel, [target, ROWS])
    assert bool(of(look(cuda))) is loud
