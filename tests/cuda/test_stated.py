"""Contracts and hypotheses from end to end, as a user runs them.

There is no GPU behind this: programs/model.c makes the launches of incidents/cuda-rope-misattributed, with its sizes, on
the FAKE driver, which is told where to fault. On a device the same launches are recorded; what is not tested here is that
it faults there.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import pytest
from cuda_kit import OURS, ROOT, Kit
from support import forked

from gpudx import casefile
from gpudx.model import Case

EXAMPLES = ROOT / "examples"
CONTRACTS, HYPOTHESES = EXAMPLES / "contracts-rope.toml", EXAMPLES / "hypotheses-rope.toml"
FAULT = {"FAKE_CUDA_FAIL": "cuLaunchKernel:9:700"}
# The five of the plan to diagnose RoPE, the three of the report on the copy, and the one that is so.
FIVE = {
    "RoPE: null pointer",
    "RoPE: invalid dimensions",
    "RoPE: base frequency",
    "RoPE: kernel not loaded",
    "RoPE: grid or block",
}
TWO, RACE, TRUE = {"copy: use after free", "copy: wrong offset"}, "copy: race", "the hidden buffer is too small"


@dataclass(frozen=True)
class Gpudx:
    """The command line over the program that stands for the incident."""

    kit: Kit
    folder: Path

    def __call__(self, *words: str | Path, status: int = 0, **more: str) -> str:
        env = {name: value for name, value in os.environ.items() if name not in OURS}
        env |= {"GPUDX_LIB": str(self.kit.recorder), "LD_LIBRARY_PATH": str(self.kit.driver), **more}
        done = forked.gpudx(*words, env=env, cwd=self.folder)
        assert done.returncode == status, done.stdout + done.stderr
        return " ".join((done.stdout + done.stderr).split())

    def run(self, *words: str | Path, twin: bool = False, status: int = 1, **more: str) -> tuple[Case, str]:
        place = self.folder / f"case-{len(list(self.folder.iterdir()))}"
        program = [self.kit.program("model"), *(["twin"] if twin else [])]
        said = self("run", "--case", place, *words, "--", *program, status=status, **({} if twin else FAULT), **more)
        return casefile.read(place), said


@pytest.fixture
def cli(kit: Kit, tmp_path: Path) -> Gpudx:
    return Gpudx(kit, tmp_path)


def stands(case: Case) -> dict[str, str]:
    return {one.hypothesis.cause: one.status for one in case.hypotheses}


def test_the_hypotheses_of_the_incident(cli: Gpudx) -> None:
    """A plain run decides all but the one that asks for a run with waits."""
    case, _ = cli.run("--hypotheses", HYPOTHESES)
    assert stands(case) == dict.fromkeys(FIVE | TWO, "refuted") | {RACE: "inconclusive", TRUE: "confirmed"}
    said = cli("report", case.directory)
    assert "Your hypotheses" in said and "The case holds no serialised run" in said
    told = next(one for one in case.hypotheses if one.hypothesis.cause == TRUE)
    assert told.counted[0].text == (
        "launch 9 of kernel gemm_f32 (2,885,681,152 < 3,758,096,384): out = memory #6 (2,885,681,152 bytes), "
        "rows = 65,536, cols = 14,336"
    )
    assert "launch 9, which failed, and of none of the" in told.reason


def test_the_race_is_refuted_by_a_run_with_waits(cli: Gpudx) -> None:
    case, _ = cli.run("--serialise", "--hypotheses", HYPOTHESES)
    assert stands(case) == dict.fromkeys(FIVE | TWO | {RACE}, "refuted") | {TRUE: "confirmed"}
    told = next(one for one in case.hypotheses if one.hypothesis.cause == TRUE)
    assert told.reason.endswith(
        "It is true of launch 9, which failed, and of none of the 4 launches that succeeded before."
    )


def test_the_twin_confirms_nothing(cli: Gpudx) -> None:
    case, said = cli.run("--hypotheses", HYPOTHESES, "--contracts", CONTRACTS, twin=True, status=0)
    assert stands(case) == dict.fromkeys(FIVE | TWO | {TRUE}, "refuted") | {RACE: "inconclusive"}
    assert not case.findings and not case.diagnosis
    assert "3 contracts with 10 requirements checked against 18 launches" in said


def test_hypotheses_of_a_finished_case(cli: Gpudx) -> None:
    case, _ = cli.run("--serialise")
    assert not case.hypotheses
    said = cli("hypotheses", case.directory, HYPOTHESES)
    assert "9 hypotheses: 8 refuted, 1 confirmed." in said and f"CONFIRMED: {TRUE}" in said
    assert "REFUTED: copy: race Work overlaps that must not, so that waiting" in said


def test_a_broken_contract_beside_a_device_fault(cli: Gpudx) -> None:
    """What the device reported stays first; the contract says what is wrong with the launch."""
    case, _ = cli.run("--serialise", "--contracts", CONTRACTS)
    best, second, third = case.diagnosis
    assert (best.cause, best.status) == ("out-of-bounds-access", "confirmed")
    assert (second.cause, second.status) == ("contract-violated", "likely")
    for told in (best, second):
        assert told.guilty and (told.guilty.kernel, told.guilty.launch, told.guilty.argument) == ("gemm_f32", 9, 0)
        assert told.guilty.allocation and told.guilty.allocation.size == 65536 * 11008 * 4
    assert third.status == "inconclusive" and "the device had faulted before this was called" in third.reason
    found = next(finding for finding in case.findings if finding.id == "contract-violated")
    assert (
        "out = memory #6 (2,885,681,152 bytes)" in found.evidence[0].text and "rows = 65,536" in found.evidence[0].text
    )
    assert found.count == 2 and found.severity == "error"


def test_a_broken_contract_in_a_run_that_passes(cli: Gpudx, kit: Kit, tmp_path: Path) -> None:
    """The fake driver does not fault by itself: the program passes, and the contract does not."""
    place = tmp_path / "case"
    said = cli(
        "run", "--case", place, "--contracts", CONTRACTS, "--error-exitcode", "9", "--", kit.program("model"), status=9
    )
    case = casefile.read(place)
    assert case.outcome.kind == "passed" and case.diagnosis[0].status == "confirmed"
    assert "gpudx: CONFIRMED contract-violated" in said and "Launch 9 of kernel gemm_f32 breaks its contract" in said


def test_check(cli: Gpudx, tmp_path: Path) -> None:
    case, _ = cli.run()
    said = cli("check", case.directory, "--contracts", CONTRACTS, status=1)
    assert (
        "gpudx: CONTRACT BROKEN" in said
        and '"bytes(out) >= rows * cols * 4" is false at 1 of 9 launches: launch 9' in said
    )
    assert casefile.read(Path(case.directory)) == case  # a case is not changed by looking at it
    twin, _ = cli.run(twin=True, status=0)
    assert "gpudx: CONTRACTS HOLD" in cli("check", twin.directory, "--contracts", CONTRACTS)
    other = tmp_path / "other.toml"
    other.write_text('[[contract]]\nkernel = "gem_f32"\nrequire = "arg3 > 0"\n')
    said = cli("check", twin.directory, "--contracts", other, status=3)
    assert "gpudx: NOT ALL CHECKED" in said and "but of gemm_f32 there was" in said


def test_contracts_that_were_never_put_to_the_test_are_not_clean(cli: Gpudx, tmp_path: Path) -> None:
    other = tmp_path / "other.toml"
    other.write_text('[[contract]]\nkernel = "gone"\nrequire = "arg3 > 0"\n')
    case, said = cli.run("--contracts", other, "--error-exitcode", "9", twin=True, status=9)
    assert case.instruments[-1].state == "not live" and "No launch was recorded for 1 contract." in said


def test_mistakes_are_told_before_anything_runs(cli: Gpudx, kit: Kit, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.toml"
    wrong.write_text('[[contract]]\nkernel = "gemm*"\nrequire = ["__import__(\'os\')"]\n')
    for option in ("--contracts", "--hypotheses"):
        said = cli("run", option, wrong, "--", "touch", tmp_path / "ran", status=2)
        assert said.startswith("gpudx: ") and "wrong.toml" in said
    assert "line 3: there is no function __import__" in cli("check", tmp_path, "--contracts", wrong, status=2)
    assert not (tmp_path / "ran").exists() and not (tmp_path / "gpudx-cases").exists()


@pytest.mark.parametrize("command", ["check", "hypotheses"])
def test_help_has_an_example(cli: Gpudx, command: str) -> None:
    said = cli(command, "--help")
    assert "Example of a FILE" in said and "gpudx run --" in said
