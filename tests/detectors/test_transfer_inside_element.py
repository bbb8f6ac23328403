"""transfer-inside-element: a copy from the middle of a number is loud; whole elements, bytes and structures are not."""

from __future__ import annotations

import struct

import pytest
from support.detecting import Look, Make
from support.synthetic import GLOBAL, Arg, World

from gpudx.model import Finding

ID = "transfer-inside-element"
WIDTH, ROWS = 256, 128


def found(look: Look, process: World, *, failed: bool = True) -> list[Finding]:
    return [one for one in look(process, "exit" if failed else "passed") if one.id == ID]


def program(make: Make, *types: str, source: str | None = None) -> tuple[World, int, int]:
    """Two buffers; one launch for each type is passed the first."""
    kernels = (f"__kernel void k{n}(__global {one} *f) {{ f[get_global_id(0)] = 0; }}" for n, one in enumerate(types))
    process = make(source=source or "\n".join(kernels))
    frame, part = process.buffer(4 * WIDTH * ROWS), process.buffer(4 * WIDTH * ROWS)
    for number, one in enumerate(types):
        kernel = process.kernel(f"k{number}", [Arg(f"{one}*", "f", GLOBAL)])
        process.set_arg(kernel, 0, frame)
        process.launch(kernel, (WIDTH * ROWS,))
    return process, frame, part


def cut(process: World, frame: int, part: int, x: int, width: int = 320) -> None:
    words = {"queue": process.queue, "src_buffer": frame, "dst_buffer": part, "src_row_pitch": 4 * WIDTH, "dst_row_pitch": width}
    arrays = {"src_origin": struct.pack("<3Q", x, 21, 0), "dst_origin": bytes(24), "region": struct.pack("<3Q", width, 64, 1)}
    process.call("clEnqueueCopyBufferRect", arrays=arrays, **words)


def test_an_origin_in_elements(world: Make, look: Look) -> None:
    process, frame, part = program(world, "float", "int")
    cut(process, frame, part, 37)
    cut(process, frame, part, 39)
    (one, _) = found(look, process)
    assert one.severity == "error" and one.site is not None and one.site.call == "clEnqueueCopyBufferRect"
    assert "inside an element of buffer #1: src_origin[0] is 37 bytes, and kernels take the buffer as numbers" in one.message
    assert one.evidence[0].text == "src_origin[0] is 37; 37 elements are 148 bytes"
    assert one.steps == ("Pass 148 as src_origin[0] if 37 counts elements: the call takes bytes.",)


def test_a_program_that_passes_may_move_bytes(world: Make, look: Look) -> None:
    process, frame, part = program(world, "float", "int")
    cut(process, frame, part, 37)
    assert not found(look, process, failed=False)


def test_an_offset_in_elements(world: Make, look: Look) -> None:
    process, frame, part = program(world, "float4")
    process.call("clEnqueueCopyBuffer", queue=process.queue, src_buffer=part, dst_buffer=frame, dst_offset=1023, size=4 * WIDTH)
    (one,) = found(look, process)
    assert one.evidence[0].text == "dst_offset is 1,023; 1,023 elements are 4,092 bytes"
    assert "of type float, which have 4 bytes" in one.message


@pytest.mark.parametrize("types", [("float",), ("uchar",), ("float", "uchar"), ("float", "double"), ()])
@pytest.mark.parametrize("x", [37, 148])
def test_whole_elements_and_bytes_are_silent(world: Make, look: Look, types: tuple[str, ...], x: int) -> None:
    """A buffer that kernels take as bytes, as numbers of two sizes, or that none takes may be copied from anywhere."""
    process, frame, part = program(world, *types)
    cut(process, frame, part, x)
    assert bool(found(look, process)) == (types == ("float",) and x == 37)


def test_the_rest_of_a_buffer_and_refused_copies_are_silent(world: Make, look: Look) -> None:
    process, frame, part = program(world, "short")
    odd = process.buffer(4001)
    kernel = process.kernel("k0", [Arg("short*", "f", GLOBAL)])
    process.set_arg(kernel, 0, odd)
    process.launch(kernel, (2000,))
    process.call("clEnqueueCopyBuffer", queue=process.queue, src_buffer=part, dst_buffer=odd, size=4001)
    process.call("clEnqueueCopyBuffer", queue=process.queue, src_buffer=part, dst_buffer=frame, dst_offset=1, size=9_999_999, status=-30)
    assert not found(look, process)


def test_a_structure_is_silent(world: Make, look: Look) -> None:
    source = "typedef struct { char tag; short n; } cell;\n__kernel void k0(__global cell *f) { f[0].n = 1; }"
    process, frame, part = program(world, "cell", source=source)
    cut(process, frame, part, 37)
    assert not found(look, process)
