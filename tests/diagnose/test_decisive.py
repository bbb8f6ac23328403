"""Which experiments an investigation makes first: decided by what the first run showed, without any process."""

from __future__ import annotations

from dataclasses import replace

import pytest
from test_judge import EXITED, PASSED, fault, site

from gpudx.investigate import decisive, laboratory, plans, uninitialized
from gpudx.investigate.loop import Result, with_run
from gpudx.investigate.suspects import best_entries, suspects
from gpudx.model import Access, Case, Diagnosis, Evidence, Failure, Guilty, Investigation, Outcome, Trial

REFUSED = replace(
    fault(), severity="warning", site=site(5, status="CUDA_ERROR_INVALID_VALUE"), causes=("launch-refused",)
)


def case(outcome: Outcome, *findings: object, diagnosis: tuple[Diagnosis, ...] = ()) -> Case:
    return Case(("app",), "", "", "", outcome, findings=findings, diagnosis=diagnosis)  # type: ignore[arg-type]


def entry(cause: str, status: str, argument: int | None = None) -> Diagnosis:
    guilty = Guilty(api="cuda", call="cuLaunchKernel", kernel="k", launch=1, argument=argument)
    return Diagnosis(cause, status, "", guilty, None, (Evidence("seen"),), "", (), observed=True)  # type: ignore[arg-type]


def ran(*experiments: str, shown: tuple[str, ...] = ()) -> tuple[Trial, ...]:
    return tuple(Trial(one, "passed", "passed", 1.0, shown=shown) for one in experiments)


def test_work_that_was_refused_settles_a_run_that_passed() -> None:
    (likely,) = decisive.refused_work(case(PASSED, REFUSED))
    assert likely.status == "likely" and likely.cause == "launch-refused"
    assert decisive.symptom(case(PASSED, REFUSED)) == "settled"


def test_what_could_not_be_created_and_was_not_missed_is_no_fault() -> None:
    created = replace(REFUSED, site=replace(site(3, status="CL_INVALID_BUFFER_SIZE"), call="clCreateBuffer"), causes=("refused-value",))
    assert decisive.refused_work(case(PASSED, created)) == () and decisive.symptom(case(PASSED, created)) == "no failure"
    assert len(decisive.refused_work(case(PASSED, created, REFUSED))) == 2


def test_other_warnings_and_runs_that_failed_have_no_refused_work() -> None:
    assert decisive.refused_work(case(PASSED, replace(REFUSED, site=site(5)))) == ()
    assert decisive.refused_work(case(EXITED, REFUSED)) == () and decisive.symptom(case(PASSED)) == "no failure"


def test_an_access_without_an_argument_is_looked_at_by_another_instrument() -> None:
    found = (entry("out-of-bounds-access", "confirmed"),)
    state = Investigation(0.99, trials=ran("recorded", "dump"), found=found, symptom="device error")
    step = decisive.next_step(state, ["memcheck", "racecheck"])
    assert step is not None and step.experiment == "memcheck"
    known = replace(state, found=(entry("out-of-bounds-access", "confirmed", argument=0),))
    assert decisive.next_step(known, ["memcheck", "racecheck"]) is None


def test_a_fault_that_is_known_by_its_page_is_looked_at_for_its_address() -> None:
    page = replace(entry("out-of-bounds-access", "confirmed", argument=0), access=Access(address=0x7000, seen_by="driver"))
    reported = replace(fault(), id=decisive.DEVICE_ERROR)
    assert decisive.symptom(case(EXITED, reported, diagnosis=(page,))) == "device error"
    state = Investigation(0.99, trials=ran("recorded"), before=(page,), symptom="device error")
    step = decisive.next_step(state, ["memcheck", "racecheck"])
    assert step is not None and step.experiment == "memcheck"
    exact = replace(page, access=Access(address=0x7004, seen_by="memcheck"))
    known = replace(state, trials=ran("recorded", "memcheck"), found=(exact,))
    assert decisive.next_step(known, ["memcheck", "racecheck"]) is None
    assert best_entries(known)["out-of-bounds-access"] is exact


@pytest.mark.parametrize(("fingerprints", "wanted"), [(("1:plain",), False), (("1:plain", "1:new"), True)])
def test_a_dump_is_asked_for_only_where_the_fence_was_met(fingerprints: tuple[str, ...], wanted: bool) -> None:
    plain = Trial("recorded", "reproduced", "exit:1", 1.0, fingerprints=("1:plain",))
    fenced = Trial("fenced", "reproduced", "exit:1", 1.0, fingerprints=fingerprints)
    state = Investigation(0.99, trials=(plain, fenced), symptom="wrong result")
    step = decisive.next_step(state, ["fenced", "fenced-dump"])
    assert (step is not None and step.experiment == "fenced-dump") == wanted


@pytest.mark.parametrize(
    ("cause", "observed", "goes_on"),
    [("not-a-number", True, False), ("not-a-number", False, True), ("out-of-bounds-access", True, True)],
)
def test_a_likely_cause_that_no_experiment_can_confirm_ends_the_plan(cause: str, observed: bool, goes_on: bool) -> None:
    """An instrument saw it, and the program fails every time: that it still fails under other conditions would say nothing."""
    entry = Diagnosis(cause, "likely", "", None, None, (), "", (), observed=observed)
    plain = tuple(Trial("recorded", "reproduced", "exit:1", 1.0) for _ in range(3))
    state = Investigation(0.99, trials=plain, found=(entry,), symptom="wrong result")
    assert (decisive.next_step(state, ["serialised"]) is not None) == goes_on
    assert decisive.is_steady(state) != goes_on


@pytest.mark.parametrize(("ending", "wanted"), [("signal:SIGABRT", ["runtime-errors", "global-races", "numbers"]), ("signal:SIGSEGV", [])])
def test_a_program_that_its_own_check_aborts_is_looked_at_as_one_with_wrong_results(ending: str, wanted: list[str]) -> None:
    runnable, made = ("runtime-errors", "global-races", "numbers"), list[str]()
    trials = tuple(Trial("recorded", "reproduced", ending, 1.0) for _ in range(3))
    while (step := decisive.next_step(Investigation(0.99, trials=trials, symptom="crash"), runnable)) is not None:
        made.append(step.experiment)
        trials += (Trial(step.experiment, "reproduced", ending, 1.0),)
    assert made == wanted


def test_progress_never_counts_beyond_its_end() -> None:
    """More poisoned runs are wanted where the outcome differs by pattern; the step says how many."""
    patterns = ["a", "b", "c", "a"]
    made = tuple(Trial("poisoned", "reproduced", "exit:1", 1.0, fresh=one, output=one) for one in patterns)
    plain = Trial("recorded", "reproduced", "exit:1", 1.0)
    step = decisive.next_step(Investigation(0.99, trials=(plain, *made), symptom="device error"), ["poisoned"])
    assert step is not None and step.experiment == "poisoned" and step.runs > len(made)


def shared_memory(ending: str, output: str) -> Trial:
    plain = Trial("recorded", "reproduced", "exit:1", 1.0, output="sum 7")
    filled = Trial("shared-memory", "reproduced", ending, 1.0, output=output, shown=("read-before-write", "race-in-kernel"))
    read = replace(entry("read-before-write", "likely"), access=Access(kind="read", space="shared"))
    return uninitialized.without_unused(filled, Investigation(0.95, trials=(plain,)), (read, entry("race-in-kernel", "confirmed")))


def test_a_read_of_unwritten_shared_memory_counts_only_where_it_changes_what_the_program_does() -> None:
    unused = shared_memory("exit:1", "sum 7")
    assert unused.shown == ("race-in-kernel",) and "does not depend on that value" in unused.note
    assert shared_memory("exit:3", "sum 7").note == ""
    assert shared_memory("exit:1", "sum 2139062143").shown == ("read-before-write", "race-in-kernel")
    assert shared_memory("exit:3", "sum 7").shown == ("read-before-write", "race-in-kernel")


def test_shared_memory_is_looked_at_where_results_are_wrong_and_where_nothing_fails() -> None:
    for symptom in ("wrong result", "no failure"):
        steps = [step.experiment for step in plans.PLANS[symptom]]
        assert steps.index("shared-memory") == steps.index("global-races") + 1


def filled(ending: str, output: str) -> Trial:
    return Trial("shared-memory", "passed", ending, 1.0, output=output, shown=("read-before-write",))


def plain(ending: str = "passed", output: str = "sum 7") -> Trial:
    return Trial("recorded", "passed", ending, 1.0, output=output)


def reported(*trials: Trial) -> Diagnosis | None:
    """What the run says that completes these."""
    seen = replace(entry("read-before-write", "likely"), summary="It reads.", access=Access(kind="read", space="shared"))
    return uninitialized.shared_entry(trials, case(PASSED, diagnosis=(seen,)))


def test_shared_memory_that_decides_the_outcome_is_confirmed() -> None:
    three = (plain(), plain(), plain())
    assert uninitialized.next_of_shared((plain(), filled("exit:1", "sum 9"))) == ("recorded", uninitialized.SAME_PLAIN)
    assert uninitialized.next_of_shared((*three, filled("exit:1", "sum 9"))) == ("shared-memory", uninitialized.SAME_FILL)
    found = reported(*three, *(filled("exit:1", "sum 9") for _ in range(3)))
    assert found is not None and found.status == "confirmed" and "ends with exit status 1" in found.summary
    printed = reported(*three, *(filled("passed", "sum 9") for _ in range(3)))
    assert printed is not None and "prints something else" in printed.summary


@pytest.mark.parametrize(
    "trials",
    [
        [*(plain(output=f"0.{n} s") for n in range(3)), *(filled("passed", f"0.{n} s") for n in range(4, 7))],  # prints times
        [*(plain() for _ in range(3)), filled("exit:1", "sum 9"), filled("passed", "sum 7"), filled("exit:1", "sum 9")],
        [plain(), plain("exit:1", "sum 8"), plain(), *(filled("exit:1", "sum 9") for _ in range(3))],  # fails without it, too
        [plain(), plain(), *(filled("exit:1", "sum 9") for _ in range(3))],  # too few
    ],
)
def test_shared_memory_that_does_not_decide_the_outcome_is_not(trials: list[Trial]) -> None:
    assert reported(*trials) is None


def test_what_an_instrument_reports_once_is_looked_at_with_it_again() -> None:
    seen = replace(entry("race-in-kernel", "likely"), observed=True)
    raced = Trial("racecheck", "reproduced", "exit:1", 1.0, shown=("race-in-kernel",))
    failed = Trial("recorded", "reproduced", "exit:1", 1.0)
    state = Investigation(0.99, trials=(failed, raced), found=(seen,), symptom="wrong result")
    step = decisive.next_step(state, ["racecheck", "initcheck"])
    assert step is not None and (step.experiment, step.runs) == ("racecheck", 2)
    silent = replace(state, trials=(failed, raced, *ran("racecheck", "racecheck")))
    other = decisive.next_step(silent, ["racecheck", "initcheck"])
    assert other is not None and other.experiment == "initcheck"  # it did not report it again


def test_waiting_is_tried_before_instruments_and_pursued_only_where_it_helps() -> None:
    failed = Trial("recorded", "reproduced", "exit:1", 1.0)
    able = ["blocking-transfers", "serialised", "fenced", "memcheck"]
    state = Investigation(0.99, trials=(failed,), symptom="wrong result")
    first = decisive.next_step(state, able)
    assert first is not None and (first.experiment, first.runs) == ("blocking-transfers", 1)
    helped = replace(state, trials=(failed, *ran("blocking-transfers")))
    again = decisive.next_step(helped, able)
    assert again is not None and again.experiment == "blocking-transfers" and again.runs > 1
    useless = Trial("blocking-transfers", "reproduced", "exit:1", 1.0)
    other = decisive.next_step(replace(state, trials=(failed, useless)), able)
    assert other is not None and other.experiment == "fenced"


@pytest.mark.parametrize(
    ("ending", "shown", "hangs"),
    [("passed", (), False), ("timeout", (), True), ("passed", ("hang",), True)],
)
def test_a_program_that_ends_under_an_instrument_does_not_hang(ending: str, shown: tuple[str, ...], hangs: bool) -> None:
    """An instrument that left an endless loop shows it."""
    stopped = Trial("recorded", "reproduced", "timeout", 5.0)
    state = Investigation(0.99, trials=(stopped,), symptom="hang", failure=Failure("timeout", "timeout", ()))
    outcome = "passed" if ending == "passed" else "reproduced"
    found = with_run(state, Result(Trial("checked", outcome, ending, 9.0, shown=shown)))  # type: ignore[arg-type]
    assert (found.symptom == "hang", found.failure is not None) == (hangs, hangs)
    assert found.trials[0].outcome == ("reproduced" if hangs else "timeout"), "a run that was stopped says nothing of a slow program"


def test_a_program_that_ends_much_sooner_in_another_run_hangs_sometimes() -> None:
    """And is not called slow: how often it hangs is counted, without giving it more time."""
    hung, ended = Trial("recorded", "reproduced", "timeout", 12.0), Trial("recorded", "passed", "passed", 1.5)
    state = Investigation(0.99, trials=(hung,), symptom="hang", failure=Failure("timeout", "timeout", ()))
    assert decisive.may_be_slow(state)
    found = with_run(state, Result(ended))
    assert found.symptom == "hang" and found.failure is not None and not decisive.may_be_slow(found)
    step = decisive.next_step(found, ())
    assert step is not None and (step.experiment, step.why) == ("recorded", "how often it hangs")


def test_a_run_that_hangs_under_an_instrument_is_repeated_without_it() -> None:
    trials = (Trial("recorded", "passed", "passed", 1.0), Trial("checked", "reproduced", "timeout", 30.0))
    step = decisive.next_step(Investigation(0.99, trials=trials, symptom="no failure"), ())
    assert step is not None and step.experiment == "recorded" and "without an instrument" in step.why


def test_a_hang_that_the_record_settles_is_run_again() -> None:
    hung, ended = Trial("recorded", "reproduced", "timeout", 12.0), Trial("recorded", "passed", "passed", 1.0)
    state = Investigation(0.99, trials=(hung, hung), symptom="settled", failure=Failure("timeout", "timeout", ()))
    assert decisive.next_step(state, ()) is not None, "all hung: a run that ends would show what they left out"
    assert decisive.next_step(replace(state, trials=(hung, ended)), ()) is None


@pytest.mark.parametrize(
    ("experiment", "saw", "counts"),
    [("shared-memory", False, False), ("shared-memory", True, True), ("runtime-errors", False, True)],
)
def test_a_call_that_fails_only_beside_an_instrument_is_not_the_programs_fault(experiment: str, saw: bool, counts: bool) -> None:
    refused = replace(fault(), severity="error", site=site(5, status="CUDA_ERROR_INVALID_PTX"), causes=("failed-call",))
    blamed = replace(entry("failed-call", "likely"), findings=(refused.fingerprint,), observed=saw)
    state = Investigation(0.99, trials=ran("recorded"), symptom="wrong result", failure=Failure("exit:1", ()))
    trial = laboratory.trial_of(case(EXITED, refused, diagnosis=(blamed,)), experiment, "", state)
    assert trial.shown == (("failed-call",) if counts else ())


@pytest.mark.parametrize(
    ("experiment", "ending", "shown", "again"),
    [
        ("checked", "exit:1", (), True),
        ("checked", "exit:1", ("race-in-kernel",), False),  # the instrument says why
        ("poisoned", "exit:1", (), False),  # it changes what memory holds
        ("checked", "signal:SIGSEGV", (), False),  # rewritten kernels may crash a driver
    ],
)
def test_a_program_that_fails_under_an_instrument_that_changes_nothing_is_run_again(
    experiment: str, ending: str, shown: tuple[str, ...], again: bool
) -> None:
    plain = Trial("recorded", "passed", "passed", 1.0)
    looked = Trial(experiment, "reproduced", ending, 1.0, shown=shown)
    step = decisive.next_step(Investigation(0.99, trials=(plain, looked), symptom="no failure"), ("fenced",))
    assert (step is not None and step.why == "whether it fails without an instrument too") == again


@pytest.mark.parametrize(
    ("experiment", "outcome", "status", "stands"),
    [
        ("recorded", "reproduced", "confirmed", "confirmed"),
        ("recorded", "reproduced", "likely", "likely"),
        ("recorded", "passed", "confirmed", "likely"),  # what a run that passed shows says nothing of those that fail
        ("poisoned", "reproduced", "confirmed", "likely"),
    ],
)
def test_what_another_plain_run_confirms_is_confirmed(experiment: str, outcome: str, status: str, stands: str) -> None:
    """It crashed elsewhere in the first one."""
    first = Trial("recorded", "reproduced", "signal:SIGSEGV", 1.0)
    known = replace(entry("use-of-released-object", "likely"), observed=False)
    state = Investigation(0.99, (first,), Failure("signal:SIGSEGV", ""), (known,), symptom="crash")
    later = Trial(experiment, outcome, "signal:SIGABRT", 1.0)  # type: ignore[arg-type]
    after = with_run(state, Result(later, (replace(known, status=status),), symptom="crash"))  # type: ignore[arg-type]
    assert [one.status for one in after.before] == [stands]


@pytest.mark.parametrize(("mine", "status"), [(("1:aa",), "confirmed"), (("1:bb",), "likely")])
def test_what_an_instrument_confirms_of_a_finding_of_the_plain_run_is_confirmed(mine: tuple[str, ...], status: str) -> None:
    """Another finding of the same cause is news of that run alone."""
    known = replace(entry("use-of-released-object", "likely"), observed=False, findings=("1:aa",))
    found = replace(known, status="confirmed", findings=mine)
    state = Investigation(0.99, ran("recorded", "fenced"), Failure("signal:SIGSEGV", ""), (known,), (found,), symptom="crash")
    (one,) = [suspect for suspect in suspects(state, 1, 1) if suspect.entry]
    assert one.prior == status
