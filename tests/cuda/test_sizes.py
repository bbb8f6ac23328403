"""A buffer that is too small for one launch, from the hooks to the diagnosis. The fake driver says where the fault is."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from cuda_kit import Kit, Ran
from support.typed import interval

from gpudx.detectors import Run, detect_all
from gpudx.diagnose import diagnose
from gpudx.facts import derive
from gpudx.model import Diagnosis, Finding, Outcome

GUILTY = 9  # the first launch that outruns its memory: gemm_f32 with `hidden` as its output
HIDDEN_BYTES = 65536 * 11008 * 4
MISSING = 65536 * (14336 - 11008) * 4
SERIALISED = {"GPUDX_SERIALISE": "1"}


def fault_after(launch: int) -> dict[str, str]:
    return {"FAKE_CUDA_FAIL": f"cuLaunchKernel:{launch}:700"}


def judged(kit: Kit, env: Mapping[str, str], *arguments: str) -> tuple[list[Finding], tuple[Diagnosis, ...]]:
    ran = kit.run([kit.program("model"), *arguments], env=env)
    outcome = _outcome(ran)
    findings = list(detect_all(derive(ran.trace()), Run(outcome)))
    return findings, diagnose(findings, outcome)


def _outcome(ran: Ran) -> Outcome:
    return Outcome("exit" if ran.returncode else "passed", "The program ended.", ran.returncode)


def names_hidden(told: Diagnosis) -> bool:
    guilty = told.guilty
    assert guilty is not None and guilty.allocation is not None, told
    assert (guilty.kernel, guilty.launch, guilty.argument) == ("gemm_f32", GUILTY, 0)
    assert guilty.value is not None and guilty.value.startswith("0x")
    return (guilty.allocation.id, guilty.allocation.size, guilty.allocation.state) == (
        "memory #6",
        HIDDEN_BYTES,
        "live",
    )


@pytest.mark.parametrize("how", ["", "strict"])
def test_the_only_launch_and_the_argument_that_does_not_fit(kit: Kit, how: str) -> None:
    """Also where the program stops at the first error: then the launches before are all that can be compared with."""
    env = fault_after(GUILTY) | ({} if how else SERIALISED)
    _, (told,) = judged(kit, env, *([how] if how else []))
    assert (told.status, told.cause) == ("confirmed", "out-of-bounds-access")
    assert names_hidden(told)
    assert "by its size, argument 0 (float*) is too small" in told.summary
    assert "721,420,288 values" in told.summary and "939,524,096" in told.summary
    assert "inferred from sizes" in told.reason
    evidence = " ".join(e.text for e in told.evidence)
    assert "argument 3 x argument 4 (65,536 x 14,336) require 939,524,096" in evidence and f"{MISSING:,}" in evidence
    assert "argument 1 (float const*) has room for 4,194,304 values, exactly argument 3 x argument 5" in evidence
    assert "argument 2 (float const*) has room for 917,504 values, exactly argument 4 x argument 5" in evidence


@pytest.mark.parametrize("report_after", [GUILTY, 10, 12, 16])
@pytest.mark.parametrize("before", [5, GUILTY - 1], ids=["waited", "completed"])
def test_it_is_ranked_first_in_the_interval(kit: Kit, report_after: int, before: int) -> None:
    """From launch 11 on a second one is too large for the same memory; the first of them is named. Without breadcrumbs the
    interval begins at the last wait; with them it is the launch that had begun."""
    waited = before == 5
    env = fault_after(report_after) | ({"GPUDX_CRUMBS": "off"} if waited else {"FAKE_CUDA_WRITES": str(before)})
    (found,), (told,) = judged(kit, env)
    assert interval(found).launches == (report_after - before if waited else 1)
    assert interval(found).suspicious == (2 if waited and report_after >= 11 else 1)
    single = interval(found).launches == 1
    assert (told.status, told.cause) == (
        ("confirmed", "out-of-bounds-access") if single else ("likely", "device-error-reported")
    )
    assert names_hidden(told)
    ranked = [e.text for e in told.evidence if e.text.startswith("launch ")]
    assert ranked[0].startswith("launch 9 of kernel gemm_f32: argument 0 (float*) has room for 721,420,288 values")
    odd = [text for text in ranked if "has room for" in text]
    assert len(odd) == interval(found).suspicious and ranked[: len(odd)] == odd


@pytest.mark.parametrize("launch", [3, 9, 10, 16, 21])
@pytest.mark.parametrize("more", [{}, SERIALISED], ids=["", "serialised"])
def test_the_twin_is_never_accused_of_its_sizes(kit: Kit, launch: int, more: dict[str, str]) -> None:
    (found,), (told,) = judged(kit, fault_after(launch) | more, "twin")
    assert interval(found).suspicious == 0 and not interval(found).short
    assert told.guilty is None or told.guilty.argument is None
    assert told.guilty is None or told.guilty.allocation is None


def test_faults_that_sizes_cannot_make(kit: Kit) -> None:
    env = {"FAKE_CUDA_FAIL": f"cuLaunchKernel:{GUILTY}:716"} | SERIALISED
    (found,), (told,) = judged(kit, env)
    assert interval(found).suspicious == 0 and told.cause == "misaligned-access"
    assert told.guilty is not None and told.guilty.argument is None


def test_launches_that_ended_well_speak_for_it(kit: Kit) -> None:
    """Launch 21 is like launch 9, which ended well here: whatever faulted, it is not shown to be this."""
    (found,), _ = judged(kit, fault_after(21) | SERIALISED)
    assert interval(found).suspicious == 0 and interval(found).single


def test_nothing_is_said_of_a_run_that_passed(kit: Kit) -> None:
    assert judged(kit, {}) == ([], ())
