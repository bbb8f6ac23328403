"""Fresh HIP memory with a pattern in it. Programs are built by the real hipcc; execution is simulated: that the right calls are made,
never that an AMD device did anything."""

from __future__ import annotations

import pytest
from cuda_kit import Ran, decode, of
from hip_kit import Kit

from gpudx.detectors import Run, detect_all
from gpudx.facts import Facts, derive
from gpudx.model import Finding, Outcome

BACK = "unwritten-memory-read-back"
BYTES = {"cb": ("cb", "cb"), "nan": ("ff", "7f")}
FAMILIES = ("plain", "rows", "ordered", "managed", "host")


def run(kit: Kit, *words: str, pattern: str = "cb", **more: str) -> Ran:
    return kit.run_hip(kit.hip_program("fresh", kernels=False), *words, GPUDX_POISON=pattern, **more)


def facts(ran: Ran) -> Facts:
    return derive(ran.trace())


def found(ran: Ran) -> list[Finding]:
    return list(detect_all(facts(ran), Run(Outcome("passed", "The program ended."))))


@pytest.mark.parametrize("pattern", BYTES)
@pytest.mark.parametrize("fence", ["", "red"])
def test_every_family_is_filled_to_its_last_byte(kit: Kit, pattern: str, fence: str) -> None:
    ran = run(kit, pattern=pattern, GPUDX_FENCE=fence)
    even, odd = BYTES[pattern]
    last = {name: odd if name == "rows" else even for name in FAMILIES}  # 1001 bytes end in the first half of a word
    assert ran.stdout.splitlines()[:5] == [f"{name} {even} {last[name]}" for name in FAMILIES]
    assert facts(ran).poison.count == 5 and not facts(ran).poison.missed


def test_what_comes_back_is_told_with_its_place(kit: Kit) -> None:
    told = [one for one in found(run(kit)) if one.id == BACK]
    assert told and {one.severity for one in told} == {"warning"}
    assert "hipMemcpy (call" in told[0].message and "250 words of memory #1 that hold the pattern" in told[0].message


@pytest.mark.parametrize("fence", ["", "high"])
def test_a_program_that_writes_first_runs_as_before(kit: Kit, fence: str) -> None:
    plain = kit.run_hip(kit.hip_program("fresh", kernels=False), "written", record=False)
    ran = run(kit, "written", GPUDX_FENCE=fence)
    assert ran.seen == plain.seen and ran.returncode == 0 and found(ran) == []
    assert not of(decode(ran.trace()), "hipMemsetD16Async", "hipStreamCreateWithFlags")


@pytest.mark.parametrize("fence", ["", "high"])
def test_other_programs_run_as_before(kit: Kit, fence: str) -> None:
    plain = kit.run_hip(kit.hip_program("tour"), record=False, GPUDX_HIP_SIM_DEVICES="2")
    ran = kit.run_hip(
        kit.hip_program("tour"),
        GPUDX_HIP_SIM_DEVICES="2",
        GPUDX_POISON="nan",
        **({"GPUDX_FENCE": fence} if fence else {}),
    )
    assert ran.seen == plain.seen and ran.returncode == 0
    assert facts(ran).poison.missed == {"memory with flags": 1}
