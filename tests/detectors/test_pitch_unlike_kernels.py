"""pitch-unlike-kernels: a copy that steps through a buffer in other rows than its kernels is loud; packed host memory is not."""

from __future__ import annotations

import struct

import pytest
from support.detecting import Look, Make
from support.synthetic import GLOBAL, Arg, World

from gpudx.backends.opencl.plain_indices import row_strides
from gpudx.model import Finding

ID = "pitch-unlike-kernels"
SOURCE = """
__kernel void soften(__global const uchar *from, __global uchar *to, int w, int h, int pitch) {
  int x = get_global_id(0), y = get_global_id(1);
  if (x < w && y < h) to[y * pitch + x] = from[pitch * y + min_x] / 2;
}
__kernel void tighten(__global const float *from, __global float *to, int w, int pitch) {
  size_t x = get_global_id(0), y = get_global_id(1);
  to[y * w + x] = from[y * pitch + x];
}
__kernel void flat(__global uchar *to, int n) { int i = get_global_id(0); if (i < n) to[i] = 0; }
"""
SOFTEN = [Arg("uchar*", "from", GLOBAL), Arg("uchar*", "to", GLOBAL), Arg("int", "w"), Arg("int", "h"), Arg("int", "pitch")]
WIDTH, ROWS, PITCH = 200, 96, 256


def three(*numbers: int) -> bytes:
    return struct.pack("<3Q", *numbers)


def copied(process: World, buffer: int, pitch: int, width: int = 64, rows: int = 48, name: str = "clEnqueueReadBufferRect") -> None:
    words = {"queue": process.queue, "buffer": buffer, "buffer_row_pitch": pitch, "host_row_pitch": width, "blocking": 1, "ptr": 0x5000}
    arrays = {"buffer_origin": three(0, 0, 0), "host_origin": three(0, 0, 0), "region": three(width, rows, 1)}
    process.call(name, arrays=arrays, **words)


def program(make: Make, size: int = PITCH * ROWS) -> tuple[World, int, int]:
    """Two images, and a kernel that works on both with the padded pitch."""
    process = make(source=SOURCE)
    images = process.buffer(size), process.buffer(size)
    kernel = process.kernel("soften", SOFTEN)
    for index, value in enumerate(images):
        process.set_arg(kernel, index, value)
    for index, value in ((2, WIDTH), (3, ROWS), (4, PITCH)):
        process.set_arg(kernel, index, value, 4)
    process.launch(kernel, (208, ROWS))
    return process, *images


def found(look: Look, process: World, *, failed: bool = False) -> list[Finding]:
    return [one for one in look(process, "exit" if failed else "passed") if one.id == ID]


@pytest.mark.parametrize("failed", [False, True])
def test_a_tile_that_is_read_with_the_width_as_pitch(world: Make, look: Look, failed: bool) -> None:
    process, first, second = program(world)
    copied(process, first, PITCH, WIDTH, ROWS, "clEnqueueWriteBufferRect")
    copied(process, second, WIDTH)
    (one,) = found(look, process, failed=failed)
    assert one.severity == ("error" if failed else "warning") and one.site is not None and one.site.call == "clEnqueueReadBufferRect"
    assert "a buffer row pitch of 200 bytes for buffer #2, which kernel soften indexes in rows of 256 bytes" in one.message
    texts = " ".join(evidence.text for evidence in one.evidence)
    assert "clEnqueueWriteBufferRect" in texts and "24,576 bytes = 96 rows of 256" in texts
    assert one.steps == ("Pass 256 as buffer row pitch: the distance of rows in the buffer, in bytes.",)


def test_no_pitch_at_all(world: Make, look: Look) -> None:
    process, _, second = program(world, size=PITCH * 96)
    copied(process, second, 0, width=100)
    (one,) = found(look, process)
    assert "0, which stands for 100 bytes," in one.message


@pytest.mark.parametrize(
    ("pitch", "width", "rows"),
    [
        (PITCH, 64, 48),  # a packed host, as it is meant
        (2 * PITCH, 64, 24),  # every second row
        (PITCH + 1, 1, 48),  # a diagonal
        (WIDTH, 64, 1),  # one row
        (512 + 64, 300, 8),  # more than a row at once
    ],
)
def test_copies_that_are_meant_are_silent(world: Make, look: Look, pitch: int, width: int, rows: int) -> None:
    process, _, second = program(world)
    copied(process, second, pitch, width, rows)
    assert not found(look, process)


def test_a_pitch_that_the_buffer_is_made_for_is_silent(world: Make, look: Look) -> None:
    """Without another copy that uses the kernels' pitch: the buffer has whole rows of both."""
    process, _, second = program(world, size=PITCH * 100)
    copied(process, second, 128)
    assert not found(look, process)


def test_a_kernel_that_packs_its_rows_is_silent(world: Make, look: Look) -> None:
    """It reads rows of the one length and writes those of the other."""
    process = world(source=SOURCE)
    first, second = process.buffer(4 * PITCH * ROWS), process.buffer(4 * PITCH * ROWS)
    args = [Arg("float*", "from", GLOBAL), Arg("float*", "to", GLOBAL), Arg("int", "w"), Arg("int", "pitch")]
    kernel = process.kernel("tighten", args)
    for index, value, size in ((0, first, 8), (1, second, 8), (2, WIDTH, 4), (3, PITCH, 4)):
        process.set_arg(kernel, index, value, size)
    process.launch(kernel, (WIDTH, ROWS))
    copied(process, first, 4 * PITCH, 4 * WIDTH, ROWS, "clEnqueueWriteBufferRect")
    copied(process, second, 4 * WIDTH, 4 * WIDTH, ROWS)
    assert not found(look, process)


def test_a_buffer_that_another_kernel_uses_without_rows_is_silent(world: Make, look: Look) -> None:
    process, _, second = program(world)
    kernel = process.kernel("flat", [Arg("uchar*", "to", GLOBAL), Arg("int", "n")])
    process.set_arg(kernel, 0, second)
    process.set_arg(kernel, 1, WIDTH * ROWS, 4)
    process.launch(kernel, (WIDTH * ROWS,))
    copied(process, second, WIDTH)
    assert not found(look, process)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("a[y * s + x] = 1;", {"a": "s"}),
        ("a[s * y + x + 1] = a[y * s + x];", {"a": "s"}),
        ("a[y * s + x] = a[x];", {}),  # the first row, or another layout
        ("a[y * s + x * 2] = 1;", {}),
        ("a[y * 64 + x] = 1;", {}),
        ("s += 1; a[y * s + x] = 1;", {}),
        ("a[x * s + y] = 1;", {}),  # transposed
        ("a[y * s] = 1;", {}),
        ("put(a, y * s + x);", {}),
    ],
)
def test_rows_in_the_source(body: str, expected: dict[str, str]) -> None:
    source = f"__kernel void k(__global float *a, int s) {{ int x = get_global_id(0), y = get_global_id(1); {body} }}"
    assert row_strides(source, "k") == expected
