"""What can follow from an access outside memory is no finding of its own; what cannot, is."""

from __future__ import annotations

import pytest

pytest.importorskip("clang.cindex")
pytest.importorskip("pyopencl")

from test_running import HERE, findings, platform, sanitized

__all__ = ["platform"]

FOLDED = "reported after it and can follow from it"


@pytest.fixture(scope="module")
def found(platform: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict[str, object]]]:
    """By kernel."""
    case = tmp_path_factory.mktemp("followers") / "case"
    sanitized(case, str(HERE / "programs/followers.py"), "wrong", env=platform)
    by_kernel: dict[str, list[dict[str, object]]] = {}
    for one in findings(case):
        by_kernel.setdefault(one["site"]["kernel"], []).append(one)  # type: ignore[index]
    return by_kernel


def kinds(found: list[dict[str, object]]) -> set[str]:
    return {str(one["id"]).removeprefix("kernel-check-") for one in found}


@pytest.mark.timeout(600)
def test_a_race_for_places_that_a_left_out_access_made_follows_from_it(found: dict[str, list[dict[str, object]]]) -> None:
    assert kinds(found["places"]) == {"bounds"} and "scattered" not in found
    assert f"in launch 2 were {FOLDED}" in str(found["places"]) or f"in launch 2 was {FOLDED}" in str(found["places"])


@pytest.mark.timeout(600)
def test_updates_of_fewer_elements_than_work_items_collide_by_themselves(found: dict[str, list[dict[str, object]]]) -> None:
    assert "race" in kinds(found["tallied"])


@pytest.mark.timeout(600)
def test_a_race_for_places_from_local_memory_that_nothing_wrote_follows_from_that(found: dict[str, list[dict[str, object]]]) -> None:
    assert kinds(found["unloaded"]) == {"uninitialized"} and FOLDED in str(found["unloaded"]) and "dealt" not in found


@pytest.mark.timeout(600)
def test_an_access_outside_comes_before_the_races_of_its_own_launch(found: dict[str, list[dict[str, object]]]) -> None:
    assert kinds(found["planes"]) == {"bounds"} and FOLDED in str(found["planes"])


@pytest.mark.timeout(600)
def test_a_race_on_memory_that_no_such_access_reaches_is_reported(found: dict[str, list[dict[str, object]]]) -> None:
    assert kinds(found["alone"]) == {"race"}


@pytest.mark.timeout(600)
def test_an_index_from_memory_that_is_raced_for_leaves_the_race_reported(found: dict[str, list[dict[str, object]]]) -> None:
    assert "race" in kinds(found["chosen"])
