"""How the entries of all runs become one diagnosis."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpudx.diagnose import entries
from gpudx.investigate.agreement import agreed
from gpudx.investigate.conclude import (
    _before_numbers,
    _entry,
    _order_before_changes,
    _that_matter,
    _with_tries,
    _without_echoes,
    _without_effect,
    conclude,
)
from gpudx.investigate.prediction import REPORTED, STAYS
from gpudx.lab.poisoned import UNLIKE
from gpudx.model import Access, Case, Cell, Diagnosis, Evidence, Finding, Guilty, Investigation, Outcome, Row, Trial
from gpudx.report.outline import verdict


def entry(cause: str, status: str, kernel: str | None, observed: bool = True) -> Diagnosis:
    guilty = Guilty(api="cuda", call="cuLaunchKernel", kernel=kernel) if kernel else None
    return Diagnosis(cause, status, "", guilty, None, (Evidence("seen"),), "", (), observed=observed)  # type: ignore[arg-type]


BOUNDS = entry("out-of-bounds-access", "confirmed", "linear")
NULL = entry("null-pointer", "likely", "linear")


def test_two_instruments_that_speak_of_one_kernel_confirm_the_reason() -> None:
    assert [one.status for one in agreed([BOUNDS, NULL])] == ["confirmed", "confirmed"]
    elsewhere = replace(NULL, guilty=replace(BOUNDS.guilty, kernel="other"))  # type: ignore[type-var]
    assert [one.status for one in agreed([BOUNDS, elsewhere])] == ["confirmed", "likely"]


def test_what_only_says_that_it_happened_is_left_out_beside_why() -> None:
    assert _without_echoes([BOUNDS, NULL]) == [NULL]
    assert _without_echoes([entry("out-of-bounds-access", "likely", None), NULL]) == [NULL]


@pytest.mark.parametrize(("launch", "first"), [(7, "arguments-overlap"), (12, "not-a-number")])
def test_a_cause_in_an_earlier_launch_comes_before_the_nan_that_follows_from_it(launch: int, first: str) -> None:
    nan, overlap = entry("not-a-number", "likely", "score"), entry("arguments-overlap", "likely", "mean", observed=False)
    nan = replace(nan, guilty=replace(nan.guilty, launch=9))  # type: ignore[type-var]
    overlap = replace(overlap, guilty=replace(overlap.guilty, launch=launch))  # type: ignore[type-var]
    assert _before_numbers([nan, overlap])[0].cause == first


@pytest.mark.parametrize(
    ("status", "cause", "first"),
    [
        ("likely", "unordered-access", "unordered-access"),
        ("likely", "undersized-buffer", "wrong-number"),  # it fails whatever the timing
        ("confirmed", "unordered-access", "wrong-number"),
        ("likely", "kernel-shared-by-threads", "kernel-shared-by-threads"),
    ],
)
def test_two_unordered_operations_come_before_a_change_that_may_only_move_the_timing(status: str, cause: str, first: str) -> None:
    changed = entry("wrong-number", status, "scale")
    assert next(_order_before_changes([changed, entry(cause, "likely", "put", observed=False)])).cause == first


def test_a_second_fault_in_another_kernel_stays() -> None:
    other = entry("out-of-bounds-access", "confirmed", "other")
    assert _without_echoes([other, NULL]) == [other, NULL]
    assert _without_echoes([BOUNDS]) == [BOUNDS]


def test_a_record_of_dead_memory_and_an_access_of_the_same_kernel_agree() -> None:
    """A graph's kernel is not launched by a call of its own, so an instrument names the kernel and no launch."""
    seen = replace(entry("out-of-bounds-access", "likely", None), access=Access(kernel="decode(int*)"))
    recorded = entry("graph-holds-dead-pointer", "likely", "decode", observed=False)
    assert [one.status for one in agreed([recorded, seen])] == ["confirmed", "likely"]
    other = entry("graph-holds-dead-pointer", "likely", "encode", observed=False)
    race = entry("unordered-access", "likely", "decode", observed=False)
    assert [one.status for one in agreed([other, race, seen])] == ["likely", "likely", "likely"]


@pytest.mark.parametrize(
    ("outputs", "given", "statuses"),
    [
        (("same", "same", "same"), ("d", "d", "d"), []),  # nothing that the program did or got depends on it
        (("same", "same", "same"), ("d", "e", "f"), ["inconclusive"]),  # what it read back does
        (("one", "two", "three"), ("d", "e", "f"), ["confirmed"]),
    ],
)
def test_a_read_of_fresh_memory_counts_where_its_content_matters(
    outputs: tuple[str, ...], given: tuple[str, ...], statuses: list[str]
) -> None:
    trials = [
        Trial("poisoned", "passed", "exit:0", 0.1, output=output, fresh=fresh, given=got)
        for fresh, output, got in zip(UNLIKE * 3, outputs * 3, given * 3, strict=True)
    ]
    told = _that_matter([entry("read-before-write", "confirmed", "gather")], trials * 3)
    assert [one.status for one in told] == statuses


@pytest.mark.parametrize(
    ("outputs", "given", "runs", "status"),
    [
        (("same", "same", "same"), ("d", "d", "d"), 3, "inconclusive"),  # padding that the kernel loads and discards
        (("same", "same", "same"), ("", "", ""), 3, "inconclusive"),  # what was read back is not known
        (("same", "same", "same"), ("d", "e", "f"), 3, "likely"),  # "FAILED", whatever the wrong results are
        (("one", "two", "three"), ("d", "e", "f"), 3, "confirmed"),
        (("one", "two", "three"), ("d", "e", "f"), 1, "likely"),
        ((), (), 0, "likely"),
    ],
)
def test_a_read_of_fresh_memory_in_a_program_that_failed(
    outputs: tuple[str, ...], given: tuple[str, ...], runs: int, status: str
) -> None:
    trials = [
        Trial("poisoned", "reproduced", "exit:1", 0.1, output=output, fresh=fresh, given=got)
        for fresh, output, got in zip(UNLIKE * runs, outputs * runs, given * runs, strict=bool(outputs))
    ]
    told = list(_without_effect([entry("read-before-write", "confirmed", "gather"), BOUNDS], trials * runs))
    assert [one.status for one in told] == [status, BOUNDS.status]


def test_a_few_runs_that_differ_by_pattern_make_it_likely() -> None:
    trials = [Trial("poisoned", "passed", "exit:0", 0.1, output=fresh, fresh=fresh) for fresh in (*UNLIKE, UNLIKE[0])]
    told = _that_matter([entry("read-before-write", "confirmed", "gather")], trials)
    assert [one.status for one in told] == ["likely"]


def test_output_that_differs_from_run_to_run_does_not_make_it_a_fault() -> None:
    trials = [
        Trial("poisoned", "passed", "exit:0", 0.1, output=f"took {n} ms", fresh=fresh)
        for n, fresh in enumerate(UNLIKE * 3)
    ]
    told = _that_matter([entry("read-before-write", "confirmed", "gather")], trials)
    assert [one.status for one in told] == ["inconclusive"]


def test_without_runs_that_decide_a_read_of_fresh_memory_is_no_fault() -> None:
    read = entry("read-before-write", "confirmed", "gather")
    told = list(_that_matter([read, BOUNDS], ()))
    assert [one.status for one in told] == ["inconclusive", BOUNDS.status]


# ---- a read without an effect, beside runs that passed ----


def investigation(outputs: tuple[str, ...], given: tuple[str, ...]) -> Investigation:
    trials = [
        Trial("poisoned", "passed", "exit:0", 0.1, output=output, fresh=fresh, given=got)
        for fresh, output, got in zip(UNLIKE * 3, outputs * 3, given * 3, strict=True)
    ]
    read = replace(entry("read-before-write", "confirmed", "motion"), access=Access(source="kernel source:15"))
    return Investigation(
        program="", command=("app",), confidence=0.99, trials=tuple(trials), found=(read,), symptom="no failure", stopped="no fault found",
        reason="All 3 plain runs passed. Checked without a finding: barriers.",
    )  # fmt: skip


def test_a_read_without_an_effect_is_a_note_below_no_fault_found() -> None:
    """An inconclusive headline on a program that passes would be noise."""
    state = investigation(("same",) * len(UNLIKE), tuple("abcdef"[: len(UNLIKE)]))
    case = conclude(Case(("app",), "", "", "", Outcome("passed", "")), state)
    assert case.diagnosis == () and case.investigation is not None
    assert case.investigation.reason.startswith("All 3 plain runs passed. Kernel motion")
    assert "reads uninitialized memory at kernel source:15, but what the program printed" in case.investigation.reason


def test_a_read_that_changes_what_is_printed_stays_the_verdict() -> None:
    state = investigation(tuple("abcdef"[: len(UNLIKE)]), tuple("abcdef"[: len(UNLIKE)]))
    case = conclude(Case(("app",), "", "", "", Outcome("passed", "")), state)
    assert [one.status for one in case.diagnosis] == ["confirmed"]


@pytest.mark.parametrize(
    ("severities", "word"), [((), "NO FAULT FOUND"), (("info",), "NO FAULT FOUND"), (("warning", "warning"), "NO FAILURE, 2 WARNINGS")]
)
def test_no_fault_found_does_not_stand_above_a_warning(severities: tuple[str, ...], word: str) -> None:
    state = replace(investigation(("same",) * len(UNLIKE), ("d",) * len(UNLIKE)), found=())
    found = tuple(Finding("argument-type", one, "", (Evidence("seen"),), facts=(("n", str(n)),)) for n, one in enumerate(severities))  # type: ignore[arg-type]
    case = conclude(Case(("app",), "", "", "", Outcome("passed", ""), findings=found), state)
    assert verdict(case)[0] == word


def test_an_undefined_value_counts_where_it_was_shown_to_matter() -> None:
    read = replace(entry("read-before-write", "likely", "k"), access=Access(kind="read", space="shared"))
    lane = replace(entry("barrier-misuse", "likely", "k"), access=Access(kind="read", space="warp"))
    plain, filled = Trial("recorded", "passed", "passed", 0.1), Trial("shared-memory", "reproduced", "exit:1", 0.1)
    assert [one.status for one in _that_matter([read, lane], (plain,))] == ["inconclusive", "inconclusive"]
    assert list(_that_matter([read, lane], (plain, filled))) == [read, lane]  # the program ended in another way
    certain = replace(read, status="confirmed")
    assert list(_that_matter([certain], (plain,))) == [certain]


def test_an_undefined_value_without_effect_is_a_lead_only_where_no_cause_is_known() -> None:
    plain = Trial("recorded", "reproduced", "exit:1", 1.0)
    read = Trial("shared-memory", "reproduced", "exit:1", 1.0, note="Kernel k reads lane 16; nothing depends on it.")
    state = Investigation(0.95, trials=(plain, read), reason="It failed in 3 of 3 plain runs. Checked without a finding: bounds.")
    failed = Case(("app",), "", "", "", Outcome("exit", "", 1))
    told = conclude(failed, state).investigation
    assert told is not None and told.reason.startswith("It failed in 3 of 3 plain runs. Kernel k reads lane 16; nothing")
    idle = replace(state, trials=(plain, replace(read, outcome="not reached")))
    passed = replace(failed, outcome=Outcome("passed", ""))
    for case, other in ((failed, idle), (passed, state)):
        told = conclude(case, other).investigation
        assert told is not None and "lane 16" not in told.reason


def test_what_was_tried_for_nothing_is_counted() -> None:
    open_end = entries.unexplained(Outcome("exit", "It failed.", 1), 10, 0, 0)
    trials = [Trial(name, outcome, "exit:1", 1.0, note="line 3: x") for name, outcome in (
        ("edited-kernel:1", "reproduced"), ("edited-kernel:2", "another failure"), ("edited-kernel:2", "reproduced"),
        ("edited-kernel:3", "passed"), ("other-number:1", "reproduced"), ("recorded", "reproduced"),
    )]  # fmt: skip
    told = _with_tries(open_end, trials).summary
    assert told.endswith("explains the failure. It also failed with 2 changes to kernels and 1 other number, one at a time.")
    assert _with_tries(open_end, trials[-1:]) is open_end


def why(*cells: Cell) -> list[str]:
    row = Row("kernel-shared-by-threads", "confirmed", True, cells, "")
    known = replace(entry("kernel-shared-by-threads", "likely", "k"), evidence=())
    return [one.text for one in _entry(row, known).evidence]


def test_why_names_experiments_in_words_and_those_that_changed_nothing_only_if_there_are_no_others() -> None:
    stays = Cell("poisoned", "stays", "4 of 4 failed", "for", STAYS)
    gone = Cell("turns", "gone", "0 of 8 failed", "for", "it went away")
    shown = Cell("fenced", "shown", "2 of 2 failed", "for", REPORTED)
    turns = "experiment `turns` (gives each thread a kernel object to itself)"
    fenced = "experiment `fenced` (puts inaccessible pages after each allocation)"
    told = [f"{turns}: 0 of 8 failed, it went away, as this cause predicts", f"{fenced} showed it: 2 of 2 failed"]
    assert why(stays, gone, shown) == told
    assert why(stays) == ["experiment `poisoned` (fills fresh memory with a pattern): 4 of 4 failed, as this cause predicts"]
