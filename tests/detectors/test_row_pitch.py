"""row-pitch: pitches that do not fit the block of host memory, and copies that are meant."""

from __future__ import annotations

import pytest
from support.opencl import OpenCL
from test_host_block import logged

from gpudx.detectors.row_pitch import ID, Rectangle, _expected

BLOCK = 0x10000


def _copy(size: int, pitch: int, *, first_row: int = 0, rows: int = 80, begin: int = 0, width: int = 400) -> Rectangle:
    return Rectangle(1, (BLOCK, size), pitch, begin, width, first_row, rows)


@pytest.mark.parametrize(
    ("copies", "expected"),
    [
        ([_copy(256_000, 1_200, first_row=30, begin=160)], 1_280),  # width instead of stride
        ([_copy(240_000, 800, rows=200, width=256), _copy(240_000, 800, rows=200, begin=400, width=128)], 1_200),
    ],
)
def test_the_pitch_that_fits_is_named(copies: list[Rectangle], expected: int) -> None:
    assert _expected(copies) == expected


@pytest.mark.parametrize(
    "copies",
    [
        [_copy(256_000, 1_280, first_row=30)],  # it fits, and only a part of the rows is copied
        [_copy(240_000, 800, rows=300)],  # all rows
        [_copy(240_000, 800, rows=100), _copy(240_000, 800, rows=100, first_row=100)],  # parts of one image
        [_copy(240_000, 800, rows=200), _copy(240_000, 1_200, rows=200)],  # two views of it
        [_copy(120_000 + 64, 1_200)],  # padding
        [_copy(120_000 + 512, 1_200)],
        [_copy(100 * 1_201, 1_200, rows=100)],  # no pitch fits
    ],
)
def test_copies_that_are_meant_are_silent(copies: list[Rectangle]) -> None:
    assert _expected(copies) is None


def test_in_a_real_program(opencl: OpenCL) -> None:
    one = logged(opencl, "pitch").only(ID)
    assert "host row pitch of 1,200 bytes" in one.message and "256,000 bytes = 200 rows of 1,280" in one.message


def test_the_right_pitch_is_silent(opencl: OpenCL) -> None:
    run = logged(opencl, "right pitch")
    assert run.outcome.failed and not run.of(ID)
