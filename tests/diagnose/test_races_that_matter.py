"""When a race inside a kernel counts: decided by runs with the work-items in the opposite order."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.opencl import OpenCL
from test_investigations import investigate

from gpudx.investigate import decisive, races
from gpudx.investigate.conclude import conclude, entries_of
from gpudx.investigate.observed import PLAIN
from gpudx.kernel_checks.opposite_order import Launched
from gpudx.lab.experiments import Context, reversed
from gpudx.lab.trials import OUTPUT
from gpudx.model import Access, Case, Diagnosis, Evidence, Failure, Guilty, Investigation, Outcome, Row, Trial

PROGRAM = Path(__file__).resolve().parent / "programs/races.c"
OPPOSITE = "reversed:expand"
ALL = (OPPOSITE, "poisoned", "fenced")
OTHERS = "fenced low-fenced close-fenced serialised poisoned host-heap host-memory checked-numbers watched filled-variables".split()
End = tuple[str, str]  # how a run ended, and what it printed
SAME: End = ("passed", "same")


def race(conflict: str = "read and store", kernel: str = "expand", status: str = "confirmed") -> Diagnosis:
    guilty = Guilty(api="opencl", call="clEnqueueNDRangeKernel", kernel=kernel, launch=1, argument=2)
    access = Access(kind="read", by="kernel", kernel=kernel, space="global", seen_by="kernel check", conflict=conflict)  # type: ignore[arg-type]
    summary = f"Kernel {kernel} (launch 1) read element 7 of argument 2 `level` (buffer #3, 6,000 bytes): `level[v]` at a.c:3. More."
    return Diagnosis("race-in-kernel", status, summary, guilty, None, (Evidence("seen"),), "", (), observed=True, access=access)  # type: ignore[arg-type]


def trial(experiment: str, end: End) -> Trial:
    outcome: Any = "passed" if end[0] == "passed" else "reproduced"
    return Trial(experiment, outcome, end[0], 1.0, output=end[1])


def played(
    *found: Diagnosis, plain: End = SAME, other: Callable[[int], End] = lambda made: SAME, runnable: tuple[str, ...] = ALL
) -> Investigation:
    """What an investigation of a program that passes does after its checks found these races."""
    checked = replace(trial("checked", SAME), shown=("race-in-kernel",))
    state = Investigation(0.99, trials=(trial(PLAIN, plain), checked), found=found, symptom="no failure")
    while (step := decisive.next_step(state, runnable)) is not None and step.experiment in (PLAIN, OPPOSITE):
        made = sum(one.experiment == step.experiment for one in state.trials)
        state = replace(state, trials=(*state.trials, trial(step.experiment, plain if step.experiment == PLAIN else other(made))))
        assert len(state.trials) < 12
    return state


def runs(state: Investigation) -> list[str]:
    return [one.experiment for one in state.trials[2:]]


def best(state: Investigation) -> Diagnosis:
    return entries_of(state)[0]


def test_the_same_in_both_orders_is_a_note() -> None:
    state = played(race())
    assert runs(state) == [PLAIN, OPPOSITE, PLAIN, OPPOSITE]
    assert decisive.next_step(state, ALL) is not None  # other causes are looked for
    assert best(state).status == "inconclusive"
    case = Case(("app",), "", "", "", Outcome("passed", "The program ended."))
    row = Row("race-in-kernel", "confirmed", True, (), "The kernel checked itself and reported this place.")
    told = conclude(case, replace(state, stopped="no fault found", reason="All 3 plain runs passed. Checked.", table=(row,)))
    assert not told.diagnosis and told.investigation is not None and not told.investigation.table
    (note,) = told.investigation.notes
    assert note.startswith("Kernel expand (launch 1) read element 7 of argument 2 `level`: `level[v]` at a.c:3. ")
    assert "in the opposite order" in note and note in told.investigation.reason


@pytest.mark.parametrize(
    ("other", "says"),
    [(("exit:1", "wrong"), "ends with exit status 1"), (("passed", "other"), "prints something else")],
)
def test_another_outcome_in_the_opposite_order_confirms_it(other: End, says: str) -> None:
    found = best(played(race(), other=lambda made: other))
    assert found.status == "confirmed" and found.reason == races.DEPENDS
    assert f"With the work-items in the opposite order, the program {says}. More." in found.summary
    assert "2 of 2 runs" in found.evidence[0].text and "3 of 3 runs" in found.evidence[0].text


@pytest.mark.parametrize(
    "other",
    [
        lambda made: ("passed", f"{made}"),  # not the same twice
        lambda made: ("exit:1", "") if made else SAME,
        lambda made: ("timeout", ""),  # a group waits for one that has not begun
        lambda made: ("signal:SIGSEGV", ""),
        lambda made: ("passed", ""),  # what it printed says nothing
    ],
)
def test_runs_that_do_not_agree_decide_nothing(other: Callable[[int], End]) -> None:
    found = best(played(race(), other=other))
    assert found.status == "inconclusive" and races.UNSETTLED in found.reason


def test_a_kernel_that_cannot_be_renumbered_is_not_accused() -> None:
    state = played(race(), runnable=("poisoned",))
    assert not runs(state)
    found = best(replace(state, not_run=(("reversed", "its kernel calls get_sub_group_id()"),)))
    assert found.status == "inconclusive" and "get_sub_group_id" in found.reason


@pytest.mark.parametrize("conflict", ["update", "stores", "exchange"])
def test_lost_values_and_exchanges_stay_confirmed(conflict: str) -> None:
    state = played(race(conflict))
    assert best(state).status == "confirmed" and decisive.next_step(state, ALL) is None
    assert runs(state) == [PLAIN, OPPOSITE, PLAIN, OPPOSITE]  # which only could add to the evidence
    both = played(race(), race(conflict, "other"))
    assert best(both).status == "confirmed" and best(both).guilty.kernel == "other"  # type: ignore[union-attr]


def test_races_that_other_instruments_report_stay() -> None:
    seen = race()
    state = played(replace(seen, access=replace(seen.access, seen_by="racecheck", conflict="")))  # type: ignore[type-var]
    assert not runs(state) and best(state).status == "confirmed"


def test_a_failing_program_gets_evidence_and_no_refutation() -> None:
    failing, passing = ("exit:1", "wrong"), SAME
    for other, wanted in ((passing, [OPPOSITE, PLAIN, PLAIN, OPPOSITE]), (failing, [OPPOSITE])):
        state = Investigation(0.99, trials=(trial(PLAIN, failing),), found=(race(),), symptom="wrong result")
        state = replace(state, failure=Failure("exit:1", "The program exited with status 1."))
        while (step := decisive.next_step(state, ALL)) is not None:
            state = replace(state, trials=(*state.trials, trial(step.experiment, failing if step.experiment == PLAIN else other)))
        assert [one.experiment for one in state.trials[1:]] == wanted
        assert best(state).status == "confirmed"
        assert ("in the opposite order" in best(state).evidence[0].text) is (other == passing)


@pytest.mark.parametrize(
    ("plain", "other", "alike"),
    [
        (["sum 8\nkernel: 1.5 ms\n", "sum 8\nkernel: 2.25 ms\n"], "sum 8\nkernel: 11 ms\n", True),
        (["sum 8\nElapsed: 0.25\n", "sum 8\nElapsed: 0.5\n"], "sum 8\nElapsed: 1\n", True),
        (["sum 8, 9 GB/s\n"] * 2, "sum 8, 8.5 GB/s\n", True),
        (["sum 8\nkernel: 1.5 ms\n"] * 2, "sum 9\nkernel: 1.5 ms\n", False),
        (["sum 8\n", "sum 9\n"], "sum 10\n", False),
    ],
)
def test_output_that_differs_by_times_only(tmp_path: Path, plain: list[str], other: str, alike: bool) -> None:
    trials = []
    for at, text in enumerate((*plain, other)):
        (tmp_path / str(at)).mkdir()
        (tmp_path / str(at) / OUTPUT).write_text(text)
        trials.append(Trial(PLAIN if at < len(plain) else OPPOSITE, "passed", "passed", 1.0, folder=str(at), output=text))
    state = Investigation(0.99, trials=tuple(trials[:-1]))
    for body, unknown in (("out[0] = 1;", other), ("atomic_inc(out);", "")):
        launched = (Launched("k", f"__kernel void k(__global int *out) {{ {body} }}", "", True),)
        context = Context((), os.environ, launched=launched, variant="k")
        seen = races.compared(trials[-1], state, tmp_path, context)
        assert seen.output == (plain[0] if alike else unknown)


def test_only_kernels_of_sources_can_be_renumbered() -> None:
    source = "__kernel void k(__global int *out) { out[get_global_id(0)] = get_group_id(0); }"
    context = Context((), {}, apis=frozenset({"opencl"}), sources=((source, "-cl-std=CL2.0"),))
    assert "no kernel was launched" in (reversed.missing(context) or "")
    uneven = replace(context, launched=(Launched("k", source, "-cl-std=CL2.0", False),))
    assert "same size" in (reversed.missing(uneven) or "") and not reversed.variants(uneven)
    even = replace(context, launched=(Launched("k", source, "-cl-std=CL2.0", True),))
    assert reversed.missing(even) is None and reversed.variants(even) == ("k",)


# ---- real programs ----

EXPECTED = {  # the cause and its status; "" for none, with a note
    "tree": "",
    "timed": "",
    "slots": "",
    "group": "ends with exit status 1",
    "shown": "prints something else",
    "until": "ends with exit status 1",
    "last": "confirmed",
    "late": "confirmed",  # of its writes, the first races are with reads
    "apart": "confirmed",
    "count": "confirmed",
}


@pytest.mark.builds
@pytest.mark.pocl("Intel's driver runs work-items in step, so that the neighbour may be too late there in any order")
@pytest.mark.timeout(280)
@pytest.mark.parametrize("mode", EXPECTED)
def test_real_races(opencl: OpenCL, tmp_path: Path, mode: str) -> None:
    pytest.importorskip("clang.cindex")
    left_out = [f"--without={one}" for one in OTHERS]
    case, said, _ = investigate(opencl, tmp_path / "case", "--budget", "200s", *left_out, "--", opencl.build([PROGRAM]), mode)
    expected, found = EXPECTED[mode], case["diagnosis"]
    if not expected:
        (note,) = case["investigation"]["notes"]
        assert not found and "`level[v]` at races.c:" in note and "element 1 of argument 0 `level`" in note, said
        assert "NO FAULT FOUND" in said and note.split()[1] in said
        assert ("It is not known" in note) is (mode == "slots")
    else:
        assert (found[0]["cause"], found[0]["status"]) == ("race-in-kernel", "confirmed"), said
        assert expected == "confirmed" or f"With the work-items in the opposite order, the program {expected}" in found[0]["summary"]
