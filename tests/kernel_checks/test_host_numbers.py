"""Numbers of the host that do not fit what the kernel was written for: macros, coordinates, sizes of copies."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("clang.cindex")
pytest.importorskip("pyopencl")

from test_running import HERE, findings, platform, sanitized

__all__ = ["platform"]
PROGRAM = str(HERE / "programs/host_numbers.py")


@pytest.mark.timeout(600)
def test_a_macro_that_the_source_does_not_use_coordinates_and_elements(platform: dict[str, str], tmp_path: Path) -> None:
    sanitized(tmp_path / "case", PROGRAM, "unused", env=platform)
    found = {one["site"]["kernel"]: one for one in findings(tmp_path / "case")}  # type: ignore[index]
    assert "the program was built with -DTILE=16, which the source never uses, and the groups are 16 x 16" in str(found["tiles"]["message"])
    assert found["tiles"]["steps"] == ["Pass -DTS=16 instead of -DTILE=16."]
    assert "its ids swapped: the launch has 48 x 32 work-items" in str(found["turn"]["message"])
    assert "copied 4,096 of the 16,384 bytes of buffer" in str(found["twice"]["message"])
    assert "4,096 x 4 = 16,384" in str(found["twice"]["steps"])


@pytest.mark.timeout(600)
def test_a_macro_with_another_number_than_the_groups(platform: dict[str, str], tmp_path: Path) -> None:
    sanitized(tmp_path / "case", PROGRAM, "other", env=platform)
    found = [one for one in findings(tmp_path / "case") if one["site"]["kernel"] == "tiles"]  # type: ignore[index]
    assert any("is TS, which is 16 by -DTS=16, but the groups are 8 x 8" in str(one["message"]) for one in found), found


@pytest.mark.timeout(600)
def test_a_pitch_that_an_option_gives_without_parentheses(platform: dict[str, str], tmp_path: Path) -> None:
    sanitized(tmp_path / "case", PROGRAM, "bare", env=platform)
    found = [one for one in findings(tmp_path / "case") if one["site"]["kernel"] == "rows"]  # type: ignore[index]
    assert found and found[0]["causes"] == ["macro-without-parentheses"], found
    assert "`get_global_id(1) * PITCH` is `get_global_id(1) * 64+2`" in str(found[0]["message"])
    assert found[0]["root"]["call"] == "clBuildProgram" and "-DPITCH=(64+2)" in str(found[0]["steps"])  # type: ignore[index]


@pytest.mark.timeout(600)
def test_a_program_that_was_built_for_other_groups(platform: dict[str, str], tmp_path: Path) -> None:
    sanitized(tmp_path / "case", PROGRAM, "cached", env=platform)
    found = {one["site"]["kernel"]: one for one in findings(tmp_path / "case")}  # type: ignore[index]
    assert found["turn"]["causes"] == ["built-for-other-groups"] and "-DTILE=16" in str(found["turn"]["message"])
    assert "-DTILE=8 for this launch" in str(found["turn"]["steps"]) and "Allocate" not in str(found["turn"]["steps"])
    assert found["sums"]["causes"] == ["option-misspelled"] and "-DPART=128" in str(found["sums"]["steps"])


@pytest.mark.timeout(600)
def test_programs_that_are_built_for_their_groups_are_silent(platform: dict[str, str], tmp_path: Path) -> None:
    sanitized(tmp_path / "case", PROGRAM, "built", env=platform)
    assert not findings(tmp_path / "case")
