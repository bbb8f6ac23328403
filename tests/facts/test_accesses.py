"""The table of accesses: ranges of copies, declarations of arguments."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.synthetic import CONSTANT, GLOBAL, Arg, World

from gpudx.facts import Facts, derive
from gpudx.facts.accesses import MAY, READ, WRITE

CONST = 1


@pytest.fixture
def process(schema: str) -> World:
    return World(schema)


def _rows(facts: Facts) -> list[tuple[str, int, int, int]]:
    return [
        (facts.objects.label(int(a["object"])), int(a["offset"]), int(a["size"]), int(a["how"])) for a in facts.accesses
    ]


def test_copies_and_fills_have_ranges(process: World, tmp_path: Path) -> None:
    one, two = process.buffer(4096), process.buffer(4096)
    process.call("clEnqueueWriteBuffer", queue=process.queue, buffer=one, offset=64, size=128)
    process.call(
        "clEnqueueCopyBuffer", queue=process.queue, src_buffer=one, dst_buffer=two, src_offset=8, dst_offset=16, size=32
    )
    process.call("clEnqueueReadBuffer", queue=process.queue, buffer=two, offset=16, size=32)
    process.call("clEnqueueFillBuffer", queue=process.queue, buffer=two, offset=0, size=4096)
    assert _rows(derive(process.write(tmp_path / "1-0.gdx"))) == [
        ("buffer #1", 64, 128, WRITE),
        ("buffer #1", 8, 32, READ),
        ("buffer #2", 16, 32, WRITE),
        ("buffer #2", 16, 32, READ),
        ("buffer #2", 0, 4096, WRITE),
    ]


def test_refused_calls_access_nothing(process: World, tmp_path: Path) -> None:
    buffer = process.buffer(64)
    process.call("clEnqueueWriteBuffer", queue=process.queue, buffer=buffer, size=128, status=-30)
    kernel = process.kernel("f", [Arg("float*", "data", GLOBAL)])
    process.set_arg(kernel, 0, buffer)
    process.launch(kernel, (64,), status=-54)
    assert _rows(derive(process.write(tmp_path / "1-0.gdx"))) == []


def test_launches_access_by_declaration(process: World, tmp_path: Path) -> None:
    arguments = [
        Arg("float*", "out", GLOBAL),
        Arg("float*", "in", GLOBAL, qualifiers=CONST),
        Arg("float*", "table", CONSTANT),
    ]
    kernel = process.kernel("f", [*arguments, Arg("long", "n")])
    buffers = [process.buffer(64) for _ in range(3)]
    for index, buffer in enumerate(buffers):
        process.set_arg(kernel, index, buffer)
    process.set_arg(kernel, 3, buffers[0])  # a number that happens to look like a handle
    process.launch(kernel, (64,))
    assert _rows(derive(process.write(tmp_path / "1-0.gdx"))) == [
        ("buffer #1", 0, 0, READ | WRITE | MAY),
        ("buffer #2", 0, 0, READ | MAY),
        ("buffer #3", 0, 0, READ | MAY),
    ]


def test_maps_may_read_and_write(process: World, tmp_path: Path) -> None:
    buffer = process.buffer(64)
    process.call("clEnqueueMapBuffer", queue=process.queue, buffer=buffer, offset=8, size=16, result=0x7F00)
    assert _rows(derive(process.write(tmp_path / "1-0.gdx"))) == [("buffer #1", 8, 16, READ | WRITE | MAY)]
