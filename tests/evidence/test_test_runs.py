"""Runs of tests in which nothing failed, tests that passed and failed, and failures inside very long lines. All logs are made up."""

from __future__ import annotations

import pytest
from test_logs import explained, findings

from gpudx.evidence.logs import _next
from gpudx.evidence.logs._fold import read_log

GTEST = (
    "[==========] Running 2 tests from 1 test suite.\n[ RUN      ] Scan.FatalErrorIsReported\n{}[       OK ] Scan.FatalErrorIsReported "
    "(1 ms)\n[ RUN      ] Scan.InvalidArgumentFails\n{}[==========] 2 tests from 1 test suite ran. (3 ms total)\n{}"
)
FINE, BAD = "[       OK ] Scan.InvalidArgumentFails (1 ms)\n", "[  FAILED  ] Scan.InvalidArgumentFails (1 ms)\n"
CTEST = (
    "Test project /b\n    Start 1: fault_injection\n1/2 Test #1: fault_injection ....   Passed    0.02 sec\n    Start 2: bad.timeout\n"
    "2: worker failed to start, as it should\n2/2 Test #2: bad.timeout .........   Passed    0.01 sec\n\n"
    "100% tests passed, 0 tests failed out of 2\n"
)
PYTEST = (
    "===== test session starts =====\ntests/test_nan.py::test_illegal_nan_is_found PASSED [ 50%]\nsolver crashed: residual is nan\n"
    "tests/test_nan.py::test_error_text[not found] PASSED [100%]\n===== 2 passed, 1 skipped in 0.31s =====\n"
)
SILENT = {
    "googletest": GTEST.format("", FINE, "[  PASSED  ] 2 tests.\n"),
    "googletest, captured": GTEST.format("error: cannot open the missing file\n", FINE, "[  PASSED  ] 2 tests.\n"),
    "CTest": CTEST,
    "pytest": PYTEST,
    "cargo": "test io::fails_with_an_error ... ok\ntest panic_is_caught ... ok\ntest result: ok. 2 passed; 0 failed; 0 ignored\n",
}
LOUD = {
    "googletest": GTEST.format("", BAD, "[  PASSED  ] 1 test.\n[  FAILED  ] 1 test, listed below:\n"),
    "after the run": SILENT["googletest"] + "worker crashed: the ring buffer is corrupt\n",
    "before the run": "loader: fatal error, giving up\n" + CTEST,
    "a run that did not end": GTEST.format("error: the scan kernel crashed\n", "", ""),
    "a fault of the device in a run": GTEST.format(
        "CUDA error: an illegal memory access was encountered\n", FINE, "[  PASSED  ] 2 tests.\n"
    ),
}  # fmt: skip
ONCE = "tests/test_a.py::test_sum[f16] "
FLAKY = {
    "pytest, by name": ONCE + "PASSED [ 10%]\n" + ONCE + "FAILED [ 20%]\nE   AssertionError: sums differ\n",
    "pytest, again": ONCE + "RERUN [ 50%]\n" + ONCE + "PASSED [100%]\nE   AssertionError: not sorted\n1 passed, 1 rerun in 2.10s\n",
    "googletest": "[  FAILED  ] Fold.Add (3 ms)\n[ RUN      ] Fold.Add\n[       OK ] Fold.Add (2 ms)\n",
    "cargo": "test fold ... FAILED\nthread 'fold' panicked at src/a.rs:3:1: wrong sum\ntest fold ... ok\n",
    "ctest": "    Test #3: fold .......***Failed    0.91 sec\n    Test #3: fold .......   Passed    0.88 sec\n",
    "nextest": "  TRY 1 FAIL [   0.5s] gpu-core fold::sum\n  TRY 2 PASS [   0.4s] gpu-core fold::sum\n",
    "counted": "fold: FAILED\n7 of 10 iterations passed\n",
    "counted, the other way": "fold_test failed in 3 out of 10 runs\n",
    "Bazel": "//k:fold_test   FLAKY, failed in 1 out of 3 in 4.1s\n",
}
# Where the lines of a runner say how it was started, the step is that command.
STARTED = {
    "pytest, by name": "pytest tests/test_a.py",
    "pytest, again": "pytest tests/test_a.py",
    "cargo": "cargo test",
    "ctest": "ctest",
    "nextest": "cargo nextest run",
    "Bazel": "bazel test //k:fold_test",
}
STEADY = {
    "two tests": ONCE + "PASSED\ntests/test_a.py::test_sum[f32] FAILED\n",
    "twice the same": ONCE + "FAILED\n" + ONCE + "FAILED\n",
    "all of them": "[  FAILED  ] Fold.Add (3 ms)\n10 of 10 runs failed\n",
    "other things counted": "fold: FAILED\n7 of 10 kernels passed\n",
}


@pytest.mark.parametrize("name", SILENT)
def test_a_run_without_a_failed_test_is_no_failure(name: str) -> None:
    assert [one.message for one in findings(SILENT[name])] == []


@pytest.mark.parametrize("name", LOUD)
def test_failures_beside_and_inside_of_runs_count(name: str) -> None:
    assert findings(LOUD[name])


@pytest.mark.parametrize("name", FLAKY)
def test_what_passed_and_failed_is_run_many_times(name: str) -> None:
    found = findings(FLAKY[name])
    assert any("order-or-timing" in one.causes for one in found)
    assert found[0].written is not None and found[0].written.next == _next.with_command(_next.FLAKE, STARTED.get(name, ""))


@pytest.mark.parametrize("name", STEADY)
def test_other_tests_are_not_called_flaky(name: str) -> None:
    assert not any("order-or-timing" in one.causes for one in findings(STEADY[name]))


@pytest.mark.parametrize("before", [3_000, 4_090, 8_000, 24_000, 31_000, 40_000, 200_000])
def test_a_failure_in_a_very_long_line(before: int) -> None:
    filler = '{"log":"' + "ab cd " * (before // 6)
    text = filler + 'CUDA error: an illegal memory access was encountered","rank":3}\n'
    assert explained(text).diagnosis[0].cause == "device-error-reported"
    ((told,),) = [read_log("x.log", [text.encode()]).told]
    assert told.count == 1
    assert not findings(filler + '","rank":3}\n')
