"""What nothing looked at: kernels with images."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.synthetic import GLOBAL, Arg, World

from gpudx.diagnose import left_undone
from gpudx.facts import derive
from gpudx.model import Case, Instrument, Outcome, ProcessInfo
from gpudx.report.screen import coverage


def _told(schema: str, tmp_path: Path, *arguments: str, launched: bool = True) -> tuple[str, ...]:
    process = World(schema)
    kernel = process.kernel("shear", [Arg(one, f"a{n}", GLOBAL) for n, one in enumerate(arguments)])
    for index in range(len(arguments)):
        process.set_arg(kernel, index, process.buffer(64))
    if launched:
        process.launch(kernel, (16,))
    return left_undone.not_checked([derive(process.write(tmp_path / "1-0.gdx"))])


def test_a_launched_kernel_with_an_image_is_named(schema: str, tmp_path: Path) -> None:
    (sentence,) = _told(schema, tmp_path, "image2d_t", "float*")
    assert sentence == "Accesses to images (kernel shear): kernel checks cover 2D coordinates only, other checks do not see them."


def test_buffers_and_kernels_that_never_ran_are_silent(schema: str, tmp_path: Path) -> None:
    assert not _told(schema, tmp_path, "float*", "struct image_header*")
    assert not _told(schema, tmp_path, "image2d_t", launched=False)


@pytest.mark.parametrize("checked", [False, True])
@pytest.mark.parametrize("images", [False, True])
def test_the_first_screen_says_so_where_checks_ran(checked: bool, images: bool) -> None:
    tools = (Instrument("kernel checks (bounds, races)", "live", "1 kernel rewritten"),) if checked else ()
    case = Case(
        directory="",
        created="2026-01-01T00:00:00Z",
        command=("./app",),
        version="1",
        outcome=Outcome("passed", ""),
        processes=(ProcessInfo(1, 0, "./app", "", calls=9, launches=1),),
        instruments=tools,
        not_checked=("Accesses to images (kernel shear): kernel checks cover 2D coordinates only, other checks do not see them.",)
        if images
        else (),
    )
    assert ("of images, only 2D coordinates were checked" in coverage(case)) == (checked and images)
