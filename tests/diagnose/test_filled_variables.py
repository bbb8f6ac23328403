"""When a variable is said to be read before it is set: runs whose outcomes are known, and no processes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from gpudx.investigate import conclude, unset_variables, widened
from gpudx.investigate.observed import PLAIN
from gpudx.lab.experiments.filled_variables import FILLS, ZERO
from gpudx.model import Access, Diagnosis, Trial

NAMES = tuple(f"filled-variables:{one}" for one in (*FILLS, *(f"{fill}.{number}" for fill in FILLS[1:] for number in (1, 2, 3))))
WIDE = ("widened:1", "widened:2", "widened:0", "widened:told1", "widened:told2")


def play(printed: Callable[[str, int], str], names: tuple[str, ...] = NAMES) -> list[str]:
    """The variants of all runs that are asked for. `printed`: what a variant prints in its nth run."""
    trials: list[Trial] = []
    while (wanted := unset_variables.next_run(trials, names)) is not None:
        variant = wanted.experiment.partition(":")[2]
        made = sum(one.experiment == wanted.experiment for one in trials)
        trials.append(Trial(wanted.experiment, "passed", "exit:0", 1.0, output=printed(variant, made)))
        assert len(trials) < 40
    return [one.experiment.partition(":")[2] for one in trials]


def test_without_a_difference_four_runs_are_made() -> None:
    assert play(lambda variant, made: "same") == [*FILLS, ZERO]


def test_the_variable_that_makes_the_difference_is_found() -> None:
    """The second one, by itself, twice; the first alone changes nothing."""
    made = play(lambda variant, made: "other" if variant in ("3f3f3f3f", "3f3f3f3f.2") else "same")
    assert made.count(ZERO) == made.count("3f3f3f3f") == 3
    assert made[-3:] == ["3f3f3f3f.1", "3f3f3f3f.2", "3f3f3f3f.2"]


def test_output_that_changes_from_run_to_run_decides_nothing() -> None:
    made = play(lambda variant, made: f"{variant} took {made} ms")
    assert made == [*FILLS, ZERO]


def test_an_outcome_that_alternates_names_no_variable() -> None:
    made = play(lambda variant, made: "same" if variant == ZERO else f"{made % 2}")
    assert not [one for one in made if "." in one]


def test_one_variable_needs_no_run_of_its_own() -> None:
    names = tuple(one for one in NAMES if not one.endswith((".2", ".3")))
    assert not [one for one in play(lambda variant, made: variant, names) if "." in one]


def test_sums_are_widened_all_at_once_before_one_by_one() -> None:
    def trial(name: str, fails: bool) -> Trial:
        return Trial(name, "reproduced" if fails else "passed", "exit:1" if fails else "exit:0", 1.0)

    def asked(trials: list[Trial]) -> str:
        wanted = widened.next_run(trials, WIDE)
        return wanted.experiment if wanted else ""

    plain = [trial(PLAIN, True)] * 3
    assert asked(plain) == "widened:0" and not asked([*plain[:2], trial(PLAIN, False)])
    assert not asked([*plain, trial("widened:0", True)])
    assert asked([*plain, trial("widened:0", False)]) == "widened:1"
    assert asked([*plain, trial("widened:0", False), trial("widened:1", True)]) == "widened:2"
    both = [*plain, trial("widened:0", False), trial("widened:1", True), trial("widened:2", False)]
    assert asked(both) == "widened:told2" and asked([*both, trial("widened:told2", False)]) == "widened:2"
    assert asked([*both, trial("widened:told2", False), trial("widened:2", False)]) == PLAIN, "it passed twice"


def local_read(kind: Literal["read", "write"], space: str = "local") -> Diagnosis:
    access = Access(kind=kind, by="kernel", kernel="hist", space=space)
    return Diagnosis("read-before-write", "likely", "", None, None, (), "", (), access=access)


def test_local_memory_that_an_atomic_function_reads_is_judged_by_its_content() -> None:
    """Its access counts as a write, and is a read as well; global memory is judged by --poison."""
    shown = ("read-before-write",)
    passed = Trial(f"filled-variables:{ZERO}", "passed", "passed", 1.0, shown=shown)
    trials = [passed, Trial("filled-variables:3f3f3f3f", "reproduced", "exit:1", 1.0, shown=shown)] * 3
    for entry in (local_read("read"), local_read("write")):
        (found,) = conclude._that_matter([entry], trials)
        assert found.status == "confirmed" and found.reason == unset_variables.DEPENDS_ON_LOCAL
    assert not unset_variables.is_of_local(local_read("write", "global"))
    same = [Trial(f"filled-variables:{fill}", "reproduced", "exit:1", 1.0) for fill in FILLS * 3]
    assert [one.status for one in conclude._that_matter([local_read("write")], same)] == ["inconclusive"]
