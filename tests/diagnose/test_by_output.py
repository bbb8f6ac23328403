"""Programs that pass whatever they compute: when their output stands for a failure, and when it does not."""

from __future__ import annotations

from gpudx.investigate import by_output
from gpudx.investigate.observed import PLAIN, observed
from gpudx.investigate.ordered import OF_OUTPUT, SERIALISED, TRANSFERS, decided, next_run
from gpudx.model import Diagnosis, Evidence, Trial


def trial(experiment: str, output: str, outcome: str = "passed") -> Trial:
    return Trial(experiment, outcome, "passed" if outcome == "passed" else "exit:1", 1.0, output=output)  # type: ignore[arg-type]


def play(prints: dict[str, list[str]]) -> list[Trial]:
    """All runs that are asked for; each experiment prints its texts in turn."""
    trials = [trial(PLAIN, prints[PLAIN][0])]
    while (wanted := next_run(trials, (TRANSFERS, SERIALISED))) is not None:
        texts = prints[wanted.experiment]
        trials.append(trial(wanted.experiment, texts[sum(t.experiment == wanted.experiment for t in trials) % len(texts)]))
        assert len(trials) < 100
    return trials


def is_decided(trials: list[Trial], name: str) -> bool:
    return decided(name, observed(by_output.as_failures(trials, (TRANSFERS, SERIALISED))), OF_OUTPUT)


def test_another_output_with_complete_transfers_is_believed() -> None:
    trials = play({PLAIN: ["early"], TRANSFERS: ["late"], SERIALISED: ["early"]})
    assert is_decided(trials[:5], TRANSFERS) and trials[4].experiment == PLAIN, "a program that takes 6 s has no time for more"
    assert [one.experiment for one in trials[5:]] == [SERIALISED], "it only says whether the host can be what comes too early"


def test_the_same_output_takes_one_run_of_each() -> None:
    trials = play({PLAIN: ["same"], TRANSFERS: ["same"], SERIALISED: ["same"]})
    assert [one.experiment for one in trials] == [PLAIN, TRANSFERS, SERIALISED]


def test_an_output_that_differs_from_run_to_run_says_nothing() -> None:
    """A program that prints how long it took."""
    times = [f"{n} ms" for n in range(100)]
    trials = play({PLAIN: times[::2], TRANSFERS: times[1::2], SERIALISED: times[1::2]})
    assert not is_decided(trials, TRANSFERS) and not is_decided(trials, SERIALISED)


def test_programs_that_fail_or_print_nothing_are_not_judged_by_output() -> None:
    assert not by_output.applies([trial(PLAIN, "x", "reproduced")])
    assert not by_output.applies([trial(PLAIN, "")])
    assert not by_output.applies([])


def test_what_was_counted_as_failing_is_told_as_printing() -> None:
    text = "without this change: 3 of 3 runs failed, 2 of them after the last changed run"
    one = Diagnosis("unordered-access", "confirmed", "", None, None, (Evidence(text),), "", ())
    (told,) = by_output.in_words(one).evidence
    assert told.text == "without this change: 3 of 3 runs printed something else, 2 of them after the last changed run"
