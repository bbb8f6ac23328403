"""Errors that the CUDA runtime makes without a driver call that fails. CUPTI and the driver are fakes: this says what becomes of
what CUPTI reports, never that a GPU did anything."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest
from cuda_kit import HERE, Kit

from gpudx.backends.cuda import runtime
from gpudx.detectors import Run, empty_fill, runtime_error
from gpudx.diagnose import diagnose
from gpudx.facts import derive
from gpudx.model import Finding, Outcome

PASSED = Run(Outcome("passed", "It exited with 0.", 0))


def findings(kit: Kit, word: str, detector: ModuleType = runtime_error) -> list[Finding]:
    cupti = kit.library(HERE / "fake_cupti", "libcupti.so.13", "-g0")
    env = {"GPUDX_RUNTIME_ERRORS": str(cupti), runtime.INJECTION: str(kit.recorder)}
    plain, recorded = kit.both([kit.program("runtime_calls"), word], env)
    assert plain.seen == recorded.seen == (0, "done\n", "")
    return list(detector.detect(derive(recorded.trace()), PASSED))


def test_a_copy_whose_rows_do_not_fit(kit: Kit) -> None:
    (found,) = findings(kit, "pitch")
    assert found.causes == ("copy-pitch",) and found.severity == "error"
    assert found.site is not None and found.site.call == "cudaMemcpy2D"
    assert found.site.status == "cudaErrorInvalidPitchValue"
    assert Path(found.site.source or "").name.startswith("runtime_calls.c:")
    assert any("2,400 bytes does not fit into the source's pitch of 1,200" in one.text for one in found.evidence)


def test_a_refusal_that_ends_the_program_is_settled_by_its_own_numbers(kit: Kit) -> None:
    cupti = kit.library(HERE / "fake_cupti", "libcupti.so.13", "-g0")
    env = {"GPUDX_RUNTIME_ERRORS": str(cupti), runtime.INJECTION: str(kit.recorder)}
    facts = derive(kit.run([kit.program("runtime_calls"), "pitch"], env=env).trace())
    failed = Outcome("exit", "It exited with 1.", 1)
    (found,) = runtime_error.detect(facts, Run(failed))
    first = diagnose([found], failed)[0]
    assert (first.cause, first.status) == ("copy-pitch", "confirmed") and "not shown" not in first.reason
    (found,) = runtime_error.detect(facts, PASSED)  # it may have gone on without the copy
    assert found.certainty == "recorded" and found.symptom is None


def test_a_launch_with_too_many_threads(kit: Kit) -> None:
    (found,) = findings(kit, "launch")
    assert found.causes == ("launch-refused",) and found.site is not None and found.site.kernel == "softmax_row"
    assert "block 1,500 x 1 x 1" in found.message


def test_an_answer_that_the_program_was_told_later_as_an_error(kit: Kit) -> None:
    (found,) = findings(kit, "stale")
    assert found.causes == ("ignored-error",) and found.site is not None and found.site.call == "cudaHostRegister"
    assert found.severity == "warning", "the run passed"


def test_calls_that_succeed_ask_or_only_report_are_no_faults(kit: Kit) -> None:
    assert findings(kit, "ordinary") == []


def test_a_fill_with_value_and_count_swapped(kit: Kit) -> None:
    (found,) = findings(kit, "fill", empty_fill)
    assert found.severity == "error" and found.count == 1 and found.site is not None and found.site.call == "cudaMemsetAsync"
    assert "filled 0 bytes of memory #1 with the value 16" in found.message
    assert findings(kit, "fill") == [], "it is no error of the runtime"


@pytest.mark.parametrize("name", ["cudaMemcpy2D_v3020", "cudaMemcpy2D_ptds_v7000", "cudaMemcpy2D"])
def test_names_as_programs_call_them(name: str) -> None:
    assert runtime.function(name) == "cudaMemcpy2D"
