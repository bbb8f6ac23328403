"""gpudx gate: limits against cases. Every gate passes, fails, and fails for want of evidence."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from cli_kit import Gpudx

from gpudx import casefile
from gpudx.gates import every, judge
from gpudx.model import Built, Case, DeviceCode, Evidence, Finding, Instrument, KernelBuild, Outcome

CODE = DeviceCode("fold<4>(float*)", tensor_instructions=8)


def case(*findings: Finding, build: KernelBuild | None = None, instruments: tuple[Instrument, ...] = ()) -> Case:
    outcome = Outcome("passed", "It ended.")
    kernels = (Built(build),) if build else ()
    return Case(("x",), "", "", "0", outcome, instruments=instruments, findings=findings, kernels=kernels)


def finding(name: str, severity: str = "error") -> Finding:
    return Finding(name, severity, f"{name} was seen.", (Evidence("seen"),))  # type: ignore[arg-type]


BUILD = KernelBuild(
    "void fold<4>(float*)", arch="sm_90", registers=40, spill_stores=0, stack_bytes=16, static_shared_bytes=0
)
LIVE = Instrument("compute-sanitizer memcheck", "live", "saw")
GOOD = case(replace(finding("device-code", "info"), code=CODE), build=BUILD, instruments=(LIVE,))

# key: limit, a case that passes, one that fails, one that is no evidence
GATES = {
    "spills": (0, GOOD, case(build=replace(BUILD, spill_stores=4)), case(build=replace(BUILD, spill_stores=None))),
    "stack": ({"most": 16, "kernel": "fold*"}, GOOD, case(build=replace(BUILD, stack_bytes=17)), case()),
    "registers": (40, GOOD, case(build=replace(BUILD, registers=41)), case(build=KernelBuild("k"))),
    "shared-memory": (0, GOOD, case(build=replace(BUILD, static_shared_bytes=1)), case()),
    "sanitizer-errors": (0, GOOD, case(finding("sanitizer-invalid-read")), case()),
    "new-findings": ("base.json", GOOD, case(finding("hang")), case(instruments=(replace(LIVE, state="not live"),))),
    "tensor-cores": (
        [{"kernel": "fold", "least": 8}],
        GOOD,
        case(replace(finding("device-code", "info"), code=replace(CODE, tensor_instructions=0))),
        case(),
    ),
}  # fmt: skip


def test_every_gate_is_tested() -> None:
    assert set(GATES) == set(every())


@pytest.mark.parametrize("key", GATES)
def test_passes_fails_and_lacks_evidence(key: str, tmp_path: Path) -> None:
    (tmp_path / "base.json").write_text('{"schema": "gpudx.baseline/1", "findings": {}}')
    limit, good, bad, nothing = GATES[key]
    states = [judge({key: limit}, [one], tmp_path)[0] for one in (good, bad, nothing)]
    assert [(one.passed, one.missing) for one in states] == [(True, False), (False, False), (False, True)]
    assert [one.line.split()[0] for one in states] == ["passed", "FAILED", "NO"]


@pytest.mark.parametrize("name", ["sanitizer-cut-off", "sanitizer-did-not-run"])
def test_a_sanitizer_that_stopped_early_is_no_evidence(name: str, tmp_path: Path) -> None:
    assert judge({"sanitizer-errors": 0}, [case(finding(name, "warning"))], tmp_path)[0].missing
    assert judge({"sanitizer-errors": 0}, [case(instruments=(replace(LIVE, blind="one kernel"),))], tmp_path)[0].missing
    assert judge({"sanitizer-errors": 0}, [case(finding("sanitizer-clean", "info"))], tmp_path)[0].passed


def test_a_log_that_was_not_read_whole_is_no_evidence(tmp_path: Path) -> None:
    log = Instrument("log build.log", "live", "saw", blind="so much that not all of it was read")
    for key in ("spills", "tensor-cores"):
        (one,) = judge({key: GATES[key][0]}, [replace(GOOD, instruments=(log,))], tmp_path)
        assert one.missing and "build.log has so much" in one.text


def test_a_baseline(gpudx_cli: Gpudx, tmp_path: Path) -> None:
    (tmp_path / "gpudx.toml").write_text('[gate]\nnew-findings = "base.json"\n')
    for name, made in (
        ("old", case(finding("hang"), instruments=(LIVE,))),
        ("new", case(finding("hang"), finding("leak"))),
    ):
        (tmp_path / name).mkdir()
        casefile.write(made, tmp_path / name)
    before = gpudx_cli("gate", "old")
    assert before.returncode == 1 and before.stdout.startswith("NO EVIDENCE  new-findings: there is no base.json")
    assert gpudx_cli("gate", "old", "--write-baseline").returncode == 0
    assert gpudx_cli("gate", "old").stdout.startswith(
        "passed       new-findings: none that base.json does not have (1 known)."
    )
    after = gpudx_cli("gate", "new")
    assert after.returncode == 1 and "1 finding is new; the first: leak was seen." in after.stdout


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "has no limits"),
        ("[gate]\nspeed = 3\n", "an unknown gate, speed"),
        ("[gate]\nspills = true\n", "must be a whole number"),
        ("[gate]\nspills = { least = 1 }\n", "takes a number, or"),
        ("[gate\n", "is not valid TOML"),
    ],
)
def test_limits_that_are_not_understood(gpudx_cli: Gpudx, tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "gpudx.toml").write_text(text)
    (tmp_path / "c").mkdir()
    casefile.write(GOOD, tmp_path / "c")
    done = gpudx_cli("gate", "c")
    assert done.returncode == 2 and said in done.stderr


def test_a_build_and_a_clean_report_together(gpudx_cli: Gpudx, tmp_path: Path) -> None:
    (tmp_path / "gpudx.toml").write_text("[gate]\nspills = 0\nsanitizer-errors = 0\n")
    log = "ptxas info : Compiling entry function 'k' for 'sm_90'\nptxas info : Function properties for k\n"
    log += "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\nptxas info : Used 8 registers\n"
    (tmp_path / "build.log").write_text(log)
    (tmp_path / "check.log").write_text("========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n")
    gpudx_cli("explain", "build.log", "--case", "built")
    assert gpudx_cli("gate", "built").returncode == 1
    gpudx_cli("explain", "check.log", "--case", "checked")
    done = gpudx_cli("gate", "built", "checked")
    assert done.returncode == 0, done.stdout
    assert "gpudx build --ask" in gpudx_cli("gate", "--help").stdout
