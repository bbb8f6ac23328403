"""From the hooks to findings: programs on the fake driver, recorded, and what the detectors make of them."""

from __future__ import annotations

import pytest
from cuda_kit import Kit, Ran
from support.typed import interval

from gpudx.backends.cuda.messages import last_name
from gpudx.detectors import Run, detect_all, device_assertion
from gpudx.diagnose import diagnose
from gpudx.facts import derive
from gpudx.model import Finding, Outcome


def outcome(ran: Ran) -> Outcome:
    return Outcome("exit" if ran.returncode else "passed", "The program ended.", ran.returncode)


def findings(ran: Ran) -> list[Finding]:
    return list(detect_all(derive(ran.trace()), Run(outcome(ran))))


@pytest.mark.parametrize("program", ["memory", "tour", "copies"])
def test_correct_programs_are_silent(kit: Kit, program: str) -> None:
    found = findings(kit.run([kit.program(program)]))
    assert {f.id for f in found} <= {"launch-refused"}, found  # the tour has a launch refused, and looks at the status


@pytest.mark.parametrize(
    ("what", "expected"),
    [("freed", "use-after-free"), ("graph", "graph-holds-dead-pointer"), ("past", "copy-range")],
)
def test_faults_are_told_although_the_run_passed(kit: Kit, what: str, expected: str) -> None:
    ran = kit.run([kit.program("memory"), what])
    assert ran.returncode == 0
    (one,) = findings(ran)
    assert one.id == expected and one.severity == "error" and one.allocation is not None


@pytest.mark.parametrize(
    ("what", "expected", "severity", "said"),
    [
        ("direction", "copy-direction", "error", "an address in ordinary host memory as its destination"),
        ("pitch", "copy-pitch", "error", "writes 240 bytes of each row from byte 32 of it on, but a row has only 256"),
        ("overlap", "copy-overlap", "error", "to a place only 100 bytes ahead"),
        ("pageable", "pageable-copy", "info", "ordinary host memory as its source"),
        ("twice", "use-of-released-object", "error", "released it once more"),
        ("inside", "wrong-free", "error", "256 bytes into memory #1"),
        ("family", "wrong-free", "error", "which cuMemHostAlloc made; cuMemFreeHost frees that"),
        ("host", "wrong-free", "error", "an address in ordinary host memory"),
    ],
)
def test_copies_and_frees(kit: Kit, what: str, expected: str, severity: str, said: str) -> None:
    ran = kit.run([kit.program("copies"), what])
    (one,) = [f for f in findings(ran) if f.id != "failed-call"]
    assert (one.id, one.severity) == (expected, severity) and said in one.message
    assert ran.returncode == (0 if expected in ("copy-overlap", "pageable-copy") else 1)


def test_a_fault_of_the_device_is_not_blamed_on_the_call_that_reports_it(kit: Kit) -> None:
    ran = kit.run([kit.program("memory")], env={"FAKE_CUDA_FAIL": "cuLaunchKernel:3:700", "GPUDX_CRUMBS": "off"})
    assert ran.returncode == 1
    found = findings(ran)
    (told,) = diagnose(found, outcome(ran))
    assert [f.id for f in found] == ["device-error-reported"]
    assert told.victim is not None and told.victim.site is not None and told.victim.site.call == "cuStreamSynchronize"
    assert told.status == "inconclusive" and interval(found[0]).launches == 2 and interval(found[0]).followers == 1


def test_with_breadcrumbs_the_same_fault_names_its_launch(kit: Kit) -> None:
    ran = kit.run([kit.program("memory")], env={"FAKE_CUDA_FAIL": "cuLaunchKernel:3:700"})
    (told,) = diagnose(findings(ran), outcome(ran))
    assert told.status == "likely" and told.guilty is not None and told.guilty.launch == 3
    assert told.victim is not None and told.victim.site is not None and told.victim.site.call == "cuStreamSynchronize"


def test_an_assertion_is_told_with_its_text_line_and_launch(kit: Kit) -> None:
    plain, ran = kit.both([kit.program("faults")], {"FAKE_CUDA_FAIL": "cuLaunchKernel:1:710"})
    assert ran.seen == plain.seen and plain.stderr.count("Assertion") == 4
    found = findings(ran)
    (one,) = [f for f in found if f.id == "device-assertion"]
    assert "`i < n` of kernel pair (launch 1," in one.message and "src/pair.cu:12" in one.message
    assert one.site is not None and one.site.source == "src/pair.cu:12"
    assert not any("PyTorch" in step for step in (*one.steps, *device_assertion.CAUSE.fix))
    told = diagnose(found, Outcome("exit", "The program ended.", 1))
    assert (told[0].cause, told[0].status) == ("device-assertion", "confirmed")
    assert told[0].victim is not None and told[0].victim.site is not None


def test_other_faults_have_no_assertion(kit: Kit) -> None:
    ran = kit.run([kit.program("faults")], env={"FAKE_CUDA_FAIL": "cuLaunchKernel:1:700"})
    assert "device-assertion" not in {f.id for f in findings(ran)}


@pytest.mark.parametrize(
    ("spelled", "name"),
    [
        ("void check(int)", "check"),
        ("void at::native::<unnamed>::pick<float, int>(const float *, int (*)(int))", "pick"),
        ("auto ns::(anonymous namespace)::gather(long) [with T = float]", "gather"),
        ("operator_free", "operator_free"),
    ],
)
def test_the_bare_name_of_a_function(spelled: str, name: str) -> None:
    assert last_name(spelled) == name

@pytest.mark.parametrize(("what", "notes"), [("changes", 2), ("same", 0)])
def test_data_of_host_functions_is_looked_at(kit: Kit, what: str, notes: int) -> None:
    plain, ran = kit.both([kit.program("host_data"), what])
    assert ran.seen == plain.seen
    trace = ran.trace()
    changed = trace.named("note_source_changed")
    assert len(changed) == notes and all(trace.record(int(one))["size"] == 16 for one in changed)
    assert not findings(ran)  # by itself it says nothing: the function may have changed its data
