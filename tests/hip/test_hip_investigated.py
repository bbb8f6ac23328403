"""gpudx investigate on the HIP incidents, with default settings. They are built by the real hipcc; execution is simulated
(tests/hip/sim): this says which experiments are made and how they are told apart, never that an AMD device did anything."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from hip_kit import Kit
from support import forked
from support.own import PYTHONPATH

from gpudx import casefile
from gpudx.demos import incidents
from gpudx.lab.build import Built
from gpudx.model import Case

RUNTIME = ("amd-serialised", "blocking", "without-sdma")


def incident(kit: Kit, folder: Path, name: str, **more: str) -> tuple[Case, str]:
    found, built = incidents.every()[name], kit.incident(name)
    return investigated(kit, folder, replace(built, environment={**built.environment, **found.environment, **more}))


def investigated(kit: Kit, folder: Path, built: Built, *more: str, word: str = "") -> tuple[Case, str]:
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("GPUDX_", "HIP_", "LD_"))}
    env = {**clean, "PYTHONPATH": PYTHONPATH, "GPUDX_LIB": str(kit.recorder), "NO_COLOR": "1"}
    env |= built.environment
    words = ["investigate", *more, "--case", folder / "case", "--", built.program, *filter(None, [word])]
    done = forked.gpudx(*words, env=env, timeout=280)
    return casefile.read(folder / "case"), done.stdout + done.stderr


def status(case: Case) -> dict[str, str]:
    assert case.investigation is not None
    return {row.cause: row.status for row in case.investigation.table}


def rates(case: Case) -> dict[str, tuple[int, int]]:
    return {one.experiment: (one.reproduced, one.runs) for one in case.observations}


def test_a_launch_that_outruns_its_buffer(kit: Kit, tmp_path: Path) -> None:
    """Breadcrumbs name the launch and its sizes the argument, whichever call reports: a second run only shows that it repeats."""
    case, said = incident(kit, tmp_path, "hip-rope-misattributed")
    best = case.diagnosis[0]
    assert (best.cause, best.status) == ("out-of-bounds-access", "confirmed") and best.guilty is not None, said
    assert best.reason.startswith("Breadcrumbs show that it had not completed"), said
    assert (best.guilty.kernel, best.guilty.launch, best.guilty.argument) == ("gemm_f32", 2, 0), said
    assert rates(case) == {"recorded": (2, 2)}, said


@pytest.mark.slow
def test_fences_do_not_refute_what_they_cannot_name(kit: Kit, tmp_path: Path) -> None:
    """All memory lies between fences, and the device reports a fault without saying where: the truth is not refuted by that."""
    case, said = incident(kit, tmp_path, "hip-rope-misattributed", GPUDX_HIP_SIM_MAPPINGS="1")
    best = case.diagnosis[0]
    assert (best.cause, best.status) == ("out-of-bounds-access", "confirmed"), said


def test_a_printed_page_of_another_devices_memory_settles_it(kit: Kit, tmp_path: Path) -> None:
    """The runtime prints the page of the fault, as on a device: it lies in live memory, so nothing was missed."""
    printed = {"GPUDX_HIP_SIM_MAPPINGS": "1", "GPUDX_HIP_SIM_FAULT": "abort"}
    case, said = incident(kit, tmp_path, "hip-thread-device", **printed)
    best = case.diagnosis[0]
    assert (best.cause, best.status) == ("wrong-device-pointer", "confirmed") and best.guilty is not None, said
    assert (best.guilty.kernel, best.guilty.launch, best.guilty.argument) == ("scale_f32", 2, 0), said
    assert "confirmed" not in {status(case).get("out-of-bounds-access"), status(case).get("order-or-timing")}, said
    assert rates(case) == {"recorded": (2, 2)}, said


def test_memory_of_another_device(kit: Kit, tmp_path: Path) -> None:
    """No page is printed: the record alone has who allocated, and who launched."""
    case, said = incident(kit, tmp_path, "hip-thread-device")
    best = case.diagnosis[0]
    assert (best.cause, best.status) == ("wrong-device-pointer", "confirmed") and best.guilty is not None, said
    assert (best.guilty.kernel, best.guilty.launch, best.guilty.argument) == ("scale_f32", 2, 0), said
    rivals = ("order-or-timing", "copy-engines", "threads-collide", "read-before-write", "out-of-bounds-access")
    assert "confirmed" not in {status(case).get(name) for name in rivals}, said
    assert rates(case) == {"recorded": (2, 2)}, said


def without_address(kit: Kit, folder: Path, word: str, **more: str) -> tuple[Case, str]:
    """The device faults, and neither an argument nor the runtime says where."""
    built = kit.hip_program("tables")
    return investigated(kit, folder, replace(built, environment=built.environment | QUICK | more), word=word)


QUICK = {"GPUDX_HIP_SIM_DELAY_MS": "1"}


@pytest.mark.parametrize("more", [{}, {"GPUDX_HIP_SIM_FAULT": "queue-fault"}])
def test_freed_memory_that_no_argument_shows(kit: Kit, tmp_path: Path, more: dict[str, str]) -> None:
    case, said = without_address(kit, tmp_path, "freed", **more)
    best = case.diagnosis[0]
    assert (best.cause, best.status) == ("use-after-free", "confirmed") and best.guilty is not None, said
    assert (best.guilty.kernel, best.guilty.launch) == ("gather", 2), said
    assert best.guilty.allocation is not None and best.guilty.allocation.state == "freed", said
    assert rates(case) == {"recorded": (2, 2), "kept": (0, 2), "roomy": (1, 1), "poisoned": (1, 1)}, said
    assert "is the only one that had been freed by then (hipFree at tables.hip:50)" in " ".join(said.split()), said


def test_an_index_past_the_end_that_no_argument_shows(kit: Kit, tmp_path: Path) -> None:
    case, said = without_address(kit, tmp_path, "past")
    best = case.diagnosis[0]
    assert (best.cause, best.status) == ("out-of-bounds-access", "confirmed") and best.guilty is not None, said
    assert (best.guilty.kernel, best.guilty.launch) == ("gather", 1), said
    seen = rates(case)
    assert seen["roomy"] == (0, 2) and sum(runs for _, runs in seen.values()) <= 12, said
    assert sorted(seen[f"roomy:{number}"] for number in range(1, 7)) == [(0, 1), *[(1, 1)] * 5], said
    assert best.guilty.allocation is not None and best.guilty.argument is None, said  # a kernel finds it in a table
    assert "past the end of buffer #4 (4,096 bytes), allocated at" in " ".join(said.split()), said


def test_uninitialized_indices_are_not_taken_for_freed_memory(kit: Kit, tmp_path: Path) -> None:
    """A list that is never written holds what freed memory held. If that stays, the list is fresh, and the program passes."""
    pool = {"GPUDX_HIP_SIM_POOL": "keep"}
    built = kit.hip_program("tables")
    assert [kit.run_hip(built, "stale", GPUDX_MEMORY=setting, **pool).returncode for setting in ("", "freed")] == [1, 0]
    case, said = without_address(kit, tmp_path, "stale", **pool)
    assert "use-after-free" not in {entry.cause for entry in case.diagnosis if entry.status == "confirmed"}, said
    assert rates(case)["kept"] == (0, 1), said


def test_an_index_far_outside_is_confirmed_as_nothing(kit: Kit, tmp_path: Path) -> None:
    """What neither experiment removes stays a suspicion, and not for 30 runs."""
    case, said = without_address(kit, tmp_path, "far")
    assert "confirmed" not in {entry.status for entry in case.diagnosis}, said
    assert "the fault is not a short way past the end of a buffer" in " ".join(said.split()), said
    assert sum(runs for _, runs in rates(case).values()) <= 10, said


def test_the_correct_program_passes_with_its_memory_kept_and_roomy(kit: Kit, tmp_path: Path) -> None:
    built = kit.hip_program("tables")
    for setting in ("", "freed", "room", "front"):
        ran = kit.run_hip(built, "good", GPUDX_MEMORY=setting)
        assert ran.returncode == 0
    case, said = without_address(kit, tmp_path, "good")
    assert not any(entry.status in ("confirmed", "likely") for entry in case.diagnosis), said
    assert not {"kept", "roomy"} & rates(case).keys(), said


@pytest.mark.slow
def test_waits_that_help_are_mitigations(kit: Kit, tmp_path: Path) -> None:
    """A copy and a kernel that nothing orders: each kind of wait hides it, and none of them is called the cause."""
    names = (*RUNTIME, "serialised", "fenced")
    only = [word for name in names for word in ("--only", name)]
    case, said = investigated(kit, tmp_path, kit.hip_program("race"), *only)
    seen = rates(case)
    assert seen["recorded"][0] >= 6 and seen["without-sdma"][0] == seen["without-sdma"][1], said
    assert all(seen[name][0] == 0 for name in ("amd-serialised", "blocking", "serialised") if name in seen), said
    assert {"amd-serialised", "blocking"} & set(seen) and status(case)["copy-engines"] == "refuted", said
    assert "confirmed" not in status(case).values(), said
