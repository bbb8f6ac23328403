"""Hypotheses over synthetic processes: what decides them, and what must leave them open."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from stating import facts_of
from support.cuda_world import CudaWorld

from gpudx.contracts import hypotheses
from gpudx.contracts.judging import judge
from gpudx.detectors import Run, detect_all
from gpudx.diagnose import diagnose
from gpudx.facts import Facts
from gpudx.model import Case, Diagnosis, Guilty, Instrument, Observation, Outcome, Verdict
from gpudx.model.diagnosis import OutcomeName
from gpudx.model.how import Ways

PASSED = Outcome("passed", "The program ended.")
FAILED = Outcome("exit", "The program exited with status 1.", 1)
LIVE = Instrument("recorder", "live", "Loaded.")


def case_of(outcome: Outcome = PASSED, experiment: str = "recorded", **more: Any) -> Case:
    ended: OutcomeName = "passed" if outcome is PASSED else "reproduced"
    words = experiment.split(" and ")
    check = next((word for word in words if word.endswith("check")), "")
    ways = Ways(check, fence="high" * ("fenced" in words), serialise="serialised" in words)
    seen = Observation(experiment, ended, int(outcome is FAILED), 1, ways=ways)
    return Case(("app",), "/case", "2026-01-01T00:00:00Z", "0", outcome, (LIVE,), observations=(seen,), **more)


def verdict(folder: Path, case: Case, facts: Facts | None, **keys: object) -> Verdict:
    """How one hypothesis stands; `predicate` and `where` are about launches of scale."""
    lines = {"name": "mine", "claim": "I believe it", **keys}
    of_launches = {k: lines.pop(k) for k in ("kernel", "predicate", "where") if k in lines}
    text = "[[hypothesis]]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in lines.items())
    if of_launches:
        inner = {"kernel": "scale", **of_launches}
        text += "[hypothesis.launches]\n" + "".join(f"{k} = {json.dumps(v)}\n" for k, v in inner.items())
        text += "names = { x = 0, n = 1 }\n"
    (folder / "hypotheses.toml").write_text(text)
    (told,) = judge(hypotheses.read(folder / "hypotheses.toml"), case, [facts] if facts else [])
    return told


def scaling(schema: str, *numbers: int, size: int = 64) -> CudaWorld:
    """A process that scales memory of `size` bytes, once with each number of values."""
    world = CudaWorld(schema)
    memory, kernel = world.alloc(size), world.kernel("_Z5scalePfi", [8, 4])
    for n in numbers:
        world.launch(kernel, [memory, n])
    return world


@pytest.mark.parametrize(
    ("expect", "predicate", "status"),
    [
        ("some", "n == 2", "confirmed"),
        ("some", "n == 9", "refuted"),
        ("none", "n == 9", "confirmed"),
        ("none", "n == 2", "refuted"),
        ("all", "n > 0", "confirmed"),
        ("all", "n > 1", "refuted"),
        ("some", "x > 0 and n / (n - 1) > 5", "inconclusive"),
        ("none", "n / (n - 1) > 5", "inconclusive"),
        ("all", "n / (n - 1) > 0", "inconclusive"),
        ("some", "n / (n - 1) == 2", "confirmed"),
        ("none", "n / (n - 1) == 2", "refuted"),
        ("all", "n / (n - 1) == 2", "refuted"),
    ],
)
def test_verdicts(schema: str, tmp_path: Path, expect: str, predicate: str, status: str) -> None:
    """n is 1, 2 and 3: with n - 1 the first cannot be decided."""
    facts = facts_of(scaling(schema, 1, 2, 3), tmp_path)
    told = verdict(tmp_path, case_of(), facts, expect=expect, predicate=predicate)
    assert told.status == status, told.reason
    assert told.hypothesis.cause == "mine" and told.hypothesis.summary == "I believe it" and told.reason.endswith(".")
    assert (status == "inconclusive") == ("it divides by zero" in told.reason)
    assert ("n - 1" in predicate) == any(
        "it divides by zero: 1 row not counted" in one.text for one in told.not_counted
    )


def test_evidence_has_the_launch_and_its_values(schema: str, tmp_path: Path) -> None:
    told = verdict(tmp_path, case_of(), facts_of(scaling(schema, 1, 20, 3), tmp_path), predicate="bytes(x) < n * 4")
    (launch,) = told.counted
    assert launch.text == "launch 2 of kernel scale (64 < 80): x = memory #1 (64 bytes), n = 20" and launch.calls
    assert told.reason == "It is true of 1 of 3 launches of scale."
    (expected,) = told.hypothesis.predicts
    assert expected.experiment == "recorded"
    assert expected.text == '"bytes(x) < n * 4" is true of at least one of the launches of scale'


def test_a_kernel_that_was_never_launched_decides_nothing(schema: str, tmp_path: Path) -> None:
    facts = facts_of(scaling(schema, 1), tmp_path)
    for expect in ("some", "none", "all"):
        told = verdict(tmp_path, case_of(), facts, kernel="gemm*", predicate="n > 0", expect=expect)
        assert told.status == "inconclusive" and told.reason.startswith(
            "Not reached: no launches of gemm* were recorded"
        )
        assert verdict(tmp_path, case_of(), None, predicate="n > 0", expect=expect).status == "inconclusive"


def test_where_and_what_it_leaves_out(schema: str, tmp_path: Path) -> None:
    facts = facts_of(scaling(schema, 1, 2, 3), tmp_path)
    told = verdict(tmp_path, case_of(), facts, predicate="n == 1", where="n > 1")
    assert told.status == "refuted" and "`where` leaves out 1 launch" in [one.text for one in told.not_counted]
    told = verdict(tmp_path, case_of(), facts, predicate="n == 1", where="n > 5")
    assert told.status == "inconclusive" and "3 launches left out" in told.reason


def test_gaps_leave_open_what_they_may_hide(schema: str, tmp_path: Path) -> None:
    world = scaling(schema, 1, 2)
    world.header["dropped"] = 5
    facts = facts_of(world, tmp_path)
    assert verdict(tmp_path, case_of(), facts, predicate="n == 2").status == "confirmed"
    told = verdict(tmp_path, case_of(), facts, predicate="n == 9")
    assert told.status == "inconclusive" and "missing from the record" in told.reason
    assert verdict(tmp_path, case_of(), facts, predicate="n > 0", expect="all").status == "inconclusive"


def test_unknown_names_are_said_with_a_suggestion(schema: str, tmp_path: Path) -> None:
    facts = facts_of(scaling(schema, 1), tmp_path)
    told = verdict(tmp_path, case_of(), facts, predicate="nn > 0")
    assert told.status == "inconclusive" and "kernel scale has no argument nn; did you mean n?" in told.reason


# ---- allocations and errors ----


def test_allocations(schema: str, tmp_path: Path) -> None:
    world = scaling(schema, 1)
    world.free(world.alloc(512))
    facts = facts_of(world, tmp_path)
    assert verdict(tmp_path, case_of(), facts, allocations="size == 0").status == "refuted"
    told = verdict(
        tmp_path, case_of(), facts, allocations="size > 64 and freed and not host and number == 2 and made > 1"
    )
    assert told.status == "confirmed" and told.counted[0].text.startswith("memory #2 (512 bytes), made by call")
    assert verdict(tmp_path, case_of(), facts, allocations="size > 0", expect="all").status == "confirmed"
    empty = facts_of(CudaWorld(schema), tmp_path, "2.gdx")
    assert verdict(tmp_path, case_of(), empty, allocations="size == 0", expect="none").status == "inconclusive"


def test_errors(schema: str, tmp_path: Path) -> None:
    world = scaling(schema, 1)
    world.call("cuCtxSynchronize", status=700)
    facts = facts_of(world, tmp_path)
    told = verdict(
        tmp_path, case_of(), facts, errors="status == CUDA_ERROR_ILLEGAL_ADDRESS and call == cuCtxSynchronize"
    )
    assert told.status == "confirmed" and told.counted[0].text.endswith(
        "cuCtxSynchronize, gave CUDA_ERROR_ILLEGAL_ADDRESS"
    )
    assert verdict(tmp_path, case_of(), facts, errors="reported and status == 700 and number > 1").status == "confirmed"
    assert verdict(tmp_path, case_of(), facts, errors="loading").status == "refuted"
    unknown = verdict(tmp_path, case_of(), facts, errors="status == CUDA_ERROR_ILEGAL_ADDRESS")
    assert unknown.status == "inconclusive" and "did you mean CUDA_ERROR_ILLEGAL_ADDRESS?" in unknown.reason


def test_no_error_at_all_is_an_answer(schema: str, tmp_path: Path) -> None:
    facts = facts_of(scaling(schema, 1), tmp_path)
    told = verdict(tmp_path, case_of(), facts, errors="loading")
    assert (told.status, told.reason) == ("refuted", "No call failed.")
    assert verdict(tmp_path, case_of(), None, errors="loading").status == "inconclusive"


# ---- experiments ----


@pytest.mark.parametrize(
    ("wanted", "held", "decided"),
    [
        ("recorded", "recorded", True), ("recorded", "fenced", True), ("fenced", "recorded", False), ("fenced", "fenced", True),
        ("serialised", "recorded", False), ("serialised", "serialised", True), ("serialised", "fenced and serialised", True),
        ("sanitized", "recorded", False), ("sanitized", "fenced", False), ("sanitized", "racecheck", True),
    ],
)  # fmt: skip
def test_the_case_must_hold_the_experiment(schema: str, tmp_path: Path, wanted: str, held: str, decided: bool) -> None:
    facts = facts_of(scaling(schema, 1), tmp_path)
    told = verdict(tmp_path, case_of(experiment=held), facts, predicate="n == 1", experiment=wanted)
    assert told.status == ("confirmed" if decided else "inconclusive")
    assert decided or f"The case holds no {wanted} run" in told.reason


@pytest.mark.parametrize(
    ("experiment", "held", "tool"),
    [
        ("fenced", "fenced", "fence"),
        ("sanitized", "memcheck", "compute-sanitizer memcheck"),
        ("recorded", "recorded", "recorder"),
    ],
)
def test_a_tool_that_did_not_work_is_no_experiment(
    schema: str, tmp_path: Path, experiment: str, held: str, tool: str
) -> None:
    case = replace(case_of(experiment=held), instruments=(Instrument(tool, "not live", "Nothing was fenced."),))
    facts = facts_of(scaling(schema, 1), tmp_path)
    told = verdict(tmp_path, case, facts, predicate="n == 2", experiment=experiment)
    assert (
        told.status == "inconclusive"
        and f"The {tool} did not work" in told.reason
        and "Nothing was fenced." in told.reason
    )


# ---- the launch that failed ----


def failing(facts: Facts, launch: int, status: str = "confirmed") -> Case:
    """A case that holds one launch guilty."""
    number = int(facts.launches.position[launch - 1]) + 1
    guilty = Guilty("cuda", "cuLaunchKernel", number, "scale", launch)
    told = Diagnosis("out-of-bounds-access", status, "It failed.", guilty, None, (), "", ())  # type: ignore[arg-type]
    return case_of(FAILED, diagnosis=(told,))


def test_what_is_true_of_good_launches_too_distinguishes_nothing(schema: str, tmp_path: Path) -> None:
    facts = facts_of(scaling(schema, 4, 3, 4, 1), tmp_path)
    told = verdict(tmp_path, failing(facts, 3), facts, predicate="n == 4")
    assert told.status == "inconclusive"
    assert (
        "launch 3, which failed, and of 1 of the 2 launches that succeeded before alike: it distinguishes nothing"
        in told.reason
    )


def test_what_is_true_of_the_failing_launch_alone(schema: str, tmp_path: Path) -> None:
    facts = facts_of(scaling(schema, 1, 3, 4, 4), tmp_path)
    told = verdict(tmp_path, failing(facts, 3), facts, predicate="n == 4")
    assert told.status == "confirmed"
    assert told.reason.endswith(
        "It is true of launch 3, which failed, and of none of the 2 launches that succeeded before."
    )


def test_what_is_true_elsewhere_does_not_explain_the_failure(schema: str, tmp_path: Path) -> None:
    facts = facts_of(scaling(schema, 1, 3, 4), tmp_path)
    told = verdict(tmp_path, failing(facts, 3), facts, predicate="n == 1")
    assert (
        told.status == "confirmed"
        and "not true of launch 3, which failed: it does not explain the failure" in told.reason
    )


def test_a_likely_launch_compares_with_work_that_had_ended(schema: str, tmp_path: Path) -> None:
    """The record of a device's fault: launches after the last good wait are not known to have gone well."""
    world = scaling(schema, 4)
    world.sync()
    memory, kernel = world.alloc(64), world.kernel("_Z5scalePfi", [8, 4])
    for n in (4, 5):
        world.launch(kernel, [memory, n])
    world.sync(status=700)
    facts = facts_of(world, tmp_path)
    findings = tuple(detect_all(facts, Run(FAILED)))
    case = case_of(FAILED, findings=findings, diagnosis=diagnose(findings, FAILED))
    likely = replace(failing(facts, 3, "likely"), findings=findings)
    told = verdict(tmp_path, likely, facts, predicate="n >= 4")
    assert (
        told.status == "inconclusive"
        and "launch 3, which most likely failed, and of 1 of the 1 launch that succeeded" in told.reason
    )
    assert verdict(tmp_path, case, facts, predicate="n == 5").status == "confirmed"  # no launch is held guilty here


def test_an_invariant_is_not_compared(schema: str, tmp_path: Path) -> None:
    facts = facts_of(scaling(schema, 4, 4, 4), tmp_path)
    assert verdict(tmp_path, failing(facts, 3), facts, predicate="n == 4", expect="all").status == "confirmed"
