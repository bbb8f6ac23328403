"""What nothing looked at: kernels with images."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.synthetic import GLOBAL, Arg, World

from gpudx.diagnose import left_undone
from gpudx.facts import derive
from gpudx.model import Case, Instrument, Observation, Outcome, ProcessInfo
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


IMAGES = "Accesses to images (kernel shear): kernel checks cover 2D coordinates only, other checks do not see them."


def _case(*instruments: Instrument, runs: tuple[str, ...] = (), images: bool = True) -> Case:
    return Case(
        directory="",
        created="2026-01-01T00:00:00Z",
        command=("./app",),
        version="1",
        outcome=Outcome("passed", ""),
        processes=(ProcessInfo(1, 0, "./app", "", calls=9, launches=1),),
        instruments=instruments,
        observations=tuple(Observation(one, "reproduced", 1, 1) for one in runs),
        not_checked=(IMAGES,) if images else (),
    )


@pytest.mark.parametrize("checked", [False, True])
@pytest.mark.parametrize("images", [False, True])
def test_the_first_screen_says_so_where_checks_ran(checked: bool, images: bool) -> None:
    tools = (Instrument("kernel checks (bounds, races)", "live", "1 kernel rewritten"),) if checked else ()
    assert ("of images, only 2D coordinates were checked" in coverage(_case(*tools, images=images))) == (checked and images)


def test_a_run_of_an_investigation_checks_coordinates_too() -> None:
    assert coverage(_case(runs=("recorded", "checked"))).endswith("barriers; of images, only 2D coordinates were checked")
    assert "images were not checked" in coverage(_case(runs=("recorded", "fenced")))


def test_what_was_checked_of_a_kernel_that_hung() -> None:
    loops = coverage(_case(runs=("recorded", "checked-loops"), images=False))
    assert "checked: loops, bounds, barriers (only the kernel that hung); unchecked in kernels: uninitialized reads, races" in loops
    assert "unchecked" not in coverage(_case(runs=("checked-loops", "checked"), images=False))
