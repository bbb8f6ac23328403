"""What if? Programs that check their results, fail every time and break no rule: one thing about one call is wrong. Kernels are executed
by the simulated runtime."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hip_kit import HERE, Kit
from test_hip_investigated import QUICK, investigated

from gpudx.model import Case

# By the word that the program is run with: the cause, what the line that is named ends with, and what the summary says.
FOUND = {
    "number": ("wrong-number", "the number", "is 17 instead of 16: 17 is argument 3 / 3 = 50 / 3 rounded up; 16 is rounded down."),
    "fill": ("bytes-for-elements", "the fill", "passes with 68 bytes, which are 17 elements of 4 bytes."),
    "width": ("bytes-for-elements", "the upload", "passes with 200 bytes, which are 50 elements of 4 bytes."),
    "grid": ("launch-rounded-down", "the launch", "3 blocks of 16 threads leave out 2 of 50 (argument 3)"),
    "stale": ("wrong-buffer", "the buffer", "which launch 4 (step) wrote; the program fails every time, and passes with"),
    "pitch": ("transfer-pitch", "the upload", "uses a destination pitch of 200 bytes; the program fails every time, and passes with 256."),
    "bias": ("wrong-buffer", "the launch", "as argument 2; the program fails every time, and passes with"),
    "backwards": ("exchanged-copy", "the direction", "copies in the wrong direction"),
    "swapped": ("argument-order", "the launch", "Arguments 6 and 7 of kernel step are swapped"),
}
SAYS = tuple(cause for cause, *_ in FOUND.values())


def case_of(kit: Kit, folder: Path, word: str, name: str = "moves") -> tuple[Case, str]:
    built = kit.hip_program(name)
    return investigated(kit, folder, replace(built, environment=built.environment | QUICK), "--budget", "100s", word=word)


def line_of(mark: str, name: str = "moves") -> int:
    lines = (HERE / f"programs/{name}.hip").read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if line.endswith(f"// {mark}"))


@pytest.mark.parametrize("word", FOUND)
def test_the_change_that_makes_it_pass_is_named(kit: Kit, tmp_path: Path, word: str) -> None:
    case, said = case_of(kit, tmp_path, word)
    cause, mark, summary = FOUND[word]
    best = case.diagnosis[0]
    assert (best.cause, best.status) == (cause, "confirmed") and summary in best.summary, said
    assert f"/moves.hip:{line_of(mark)}" in said, said


@pytest.mark.parametrize("word", ["expected", "weak"])
def test_what_no_single_change_repairs_is_not_accused(kit: Kit, tmp_path: Path, word: str) -> None:
    """The program expects what is wrong; or so many numbers satisfy what it checks that it says nothing about any of them."""
    case, said = case_of(kit, tmp_path, word)
    assert not [one for one in case.diagnosis if one.cause in SAYS], said
    tried = {trial.experiment.partition(":")[0] for trial in case.investigation.trials} if case.investigation else set()
    assert {"other-number", "redirected", "exchanged"} <= tried


def test_extents_that_were_swapped_before_the_grid_was_computed(kit: Kit, tmp_path: Path) -> None:
    case, said = case_of(kit, tmp_path, "", "flip")
    best = case.diagnosis[0]
    assert (best.cause, best.status) == ("argument-order", "confirmed"), said
    assert "Arguments 2 and 3 of kernel transpose are swapped" in best.summary and "and the grid with them" in said, said


@pytest.mark.parametrize("word", ["good", "expected"])
def test_extents_in_the_right_order_are_not_accused(kit: Kit, tmp_path: Path, word: str) -> None:
    case, said = case_of(kit, tmp_path, word, "flip")
    assert not [one for one in case.diagnosis if one.cause in SAYS], said


def test_a_number_in_a_structure_that_is_passed_by_value(kit: Kit, tmp_path: Path) -> None:
    case, said = case_of(kit, tmp_path, "", "slices")
    best = case.diagnosis[0]
    assert (best.cause, best.status) == ("wrong-number", "confirmed"), said
    summary = "passes if argument 0 at byte 24 of kernel sums is 17 instead of 16: 17 is argument 0 at byte 16 / 3 = 50 / 3 rounded up"
    assert summary in best.summary and "/slices.hip:" in said, said


@pytest.mark.parametrize("word", ["good", "expected"])
def test_no_number_in_a_structure_is_named_where_all_are_right(kit: Kit, tmp_path: Path, word: str) -> None:
    case, said = case_of(kit, tmp_path, word, "slices")
    assert not [one for one in case.diagnosis if one.cause in SAYS], said


@pytest.mark.parametrize("word", ["outliers", "solver", "compare"])
def test_a_status_that_is_a_result_accuses_nothing(kit: Kit, tmp_path: Path, word: str) -> None:
    """Each of them passes with some number changed or two arguments swapped, and its status is right."""
    case, said = case_of(kit, tmp_path, word, "statuses")
    accused = [one for one in case.diagnosis if one.status in ("confirmed", "likely")]
    assert case.outcome.exit_code == 1 and not accused, said


def test_a_correct_program_is_not_accused(kit: Kit, tmp_path: Path) -> None:
    case, said = case_of(kit, tmp_path, "")
    assert not case.diagnosis, said


def test_memory_that_was_written_in_part_is_named_where_the_result_depends_on_the_rest(kit: Kit, tmp_path: Path) -> None:
    case, said = case_of(kit, tmp_path, "", "csr")
    best = case.diagnosis[0]
    assert (best.cause, best.status) == ("read-before-write", "confirmed"), said
    (told,) = [one.text for one in best.evidence if one.text.startswith("nothing wrote")]
    assert "bytes 2,048 to 2,051 of" in told and "kernel spmv (launch 1)" in told


def test_memory_that_was_written_as_a_whole_is_not(kit: Kit, tmp_path: Path) -> None:
    case, said = case_of(kit, tmp_path, "whole", "csr")
    assert not case.diagnosis and "nothing wrote" not in said, said


def test_the_one_of_several_callers_that_swaps_two_arguments_is_named(kit: Kit, tmp_path: Path) -> None:
    case, said = case_of(kit, tmp_path, "", "mixes")
    best = case.diagnosis[0]
    assert (best.cause, best.status) == ("argument-order", "confirmed"), said
    assert "Arguments 2 and 3 of kernel mix are swapped in 4 launches (the first is launch 2)" in best.summary
    assert f"/mixes.hip:{line_of('the order', 'mixes')}" in said, said


def test_no_caller_is_named_where_all_are_right(kit: Kit, tmp_path: Path) -> None:
    case, said = case_of(kit, tmp_path, "expected", "mixes")
    assert not [one for one in case.diagnosis if one.cause in SAYS], said
    trials = case.investigation.trials if case.investigation else ()
    assert any("=" in one.note for one in trials if one.experiment.startswith("exchanged")), "each line is tried by itself"
