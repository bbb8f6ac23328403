"""Joining the device's own record to the launch that made it, with a record written by hand and a synthetic trace."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from unittest.mock import MagicMock

import numpy as np

from gpudx.diagnose.accesses import CAUSES
from gpudx.diagnose.device_faults import join, launch_of, still_running
from gpudx.evidence._cubin import Place
from gpudx.evidence._cuda_dump import Access, Fault, Grid, Lock, Resident, Thread
from gpudx.model import Finding, Site

GRID = Grid(
    1,
    0,
    0,
    "_Z4gemmPf",
    "gemm(float*)",
    0,
    0,
    (2, 1, 1),
    (64, 1, 1),
    None,
    None,
    bytes.fromhex("0010000000000000"),
    0,
    8,
    1,
)
FAULT = Fault("CUDBG_EXCEPTION_WARP_ILLEGAL_ADDRESS", 14, "an access to an illegal address", GRID,
              Place(0, "_Z4gemmPf", 0x40, "gemm.cu:7"), 0, True, 1, 1, 1, 32, None, None, "not decoded")  # fmt: skip


def facts_with(launches: dict[int, bytes]) -> Any:
    """Facts whose launches of the kernel have these parameter bytes, newest first."""
    facts = MagicMock()
    facts.launches.find.return_value = np.array(list(launches), np.int64)
    facts.launches.within.side_effect = lambda rows, block: rows[[launches[int(row)] in block for row in rows]]
    facts.launches.values.side_effect = lambda row: [{"index": 0, "size": 8, "bytes": launches[row], "object": -1}]
    return facts


def test_the_launch_with_the_same_parameters_is_taken_not_the_last() -> None:
    facts = facts_with({9: bytes.fromhex("0020000000000000"), 4: bytes.fromhex("0010000000000000")})
    match = launch_of(FAULT, facts)
    assert match and match.launch == 4 and match.certain
    assert match.text == "the only recorded launch with the same kernel, shape and parameters"


def test_what_the_dump_does_not_have_is_not_said_to_be_the_same() -> None:
    bare = replace(FAULT, grid=replace(GRID, parameters=None))
    match = launch_of(bare, facts_with({9: bytes(8), 4: bytes(8)}))
    assert match and match.launch == 9 and not match.certain
    assert match.text == "the last of 2 recorded launches with the same kernel and shape"
    only = launch_of(bare, facts_with({9: bytes(8)}))
    assert only and only.certain and "parameters" not in only.text


def test_a_launch_that_was_repeated_with_the_same_parameters_is_certain_in_all_but_its_number() -> None:
    match = launch_of(FAULT, facts_with({9: GRID.parameters or b"", 4: GRID.parameters or b""}))
    assert match and match.launch == 9 and match.of == 2 and match.certain


def test_no_launch_has_these_parameters() -> None:
    assert launch_of(FAULT, facts_with({9: bytes(8)[:7] + b"\x01"})) is None


def test_without_a_grid_only_a_single_launch_is_certain() -> None:
    gone = replace(FAULT, grid=None)
    match = launch_of(gone, facts_with({3: bytes(8)}))
    assert match and match.launch == 3 and match.text.endswith("the same kernel")
    assert launch_of(gone, facts_with({5: bytes(8), 3: bytes(8)})) is None


def test_a_fault_without_a_launch_is_told_by_its_kernel() -> None:
    dump = MagicMock()
    dump.faults = (replace(FAULT, grid=None),)
    dump.notes = ()
    (finding,) = join(dump, facts_with({5: bytes(8), 3: bytes(8)}))
    assert finding.id == "device-fault" and finding.causes == ("out-of-bounds-access",)
    assert "gemm" in finding.message and "gemm.cu:7" in finding.message and finding.site is None


def test_every_kind_of_miss_has_a_cause() -> None:
    from gpudx.causes import every

    assert set(CAUSES.values()) <= set(every())


def standing(source: str, lanes: int, waits: str, polled: Access | None = None) -> Resident:
    thread = Thread(0, 0, 0, 0, (0, 0, 0), (0, 0, 0), 0)
    return Resident(GRID, Place(0, "_Z4gemmPf", 0x40, source), 0, 1, lanes, thread, waits, polled)


LANES = np.zeros(1, [("device", int), ("grid", int), ("block", int, 3)])
LANES["grid"] = 1


def hung(*residents: Resident, locks: tuple[Lock, ...] = (), call: str = "cuLaunchKernel", lanes: Any = LANES) -> Finding:
    dump = MagicMock()
    dump.resident, dump.locks, dump.lanes = residents, locks, lanes
    facts = facts_with({4: bytes.fromhex("0010000000000000")})
    facts.sites.at.return_value = Site(call, 12, 1, 1, "cuda", kernel="gemm", launch=5)
    facts.memory.one.return_value = -1
    (finding,) = still_running(dump, facts)
    return finding


def test_threads_of_a_warp_that_wait_for_each_other_are_a_barrier_misuse() -> None:
    places = (standing("gemm.cu:22", 10, "before barrier"), standing("gemm.cu:26", 22, "before barrier"))
    found = hung(*places, locks=(Lock(1, places),))
    assert found.causes == ("barrier-misuse",) and found.attribution == "this" and found.certainty == "observed"
    assert "10 threads wait at the barrier at gemm.cu:22 and 22 threads wait at the barrier at gemm.cu:26" in found.message
    assert found.access is not None and found.access.source == "gemm.cu:22"


def test_who_works_is_named_before_who_waits() -> None:
    found = hung(standing("gemm.cu:22", 31, "at barrier"), standing("gemm.cu:9", 1, ""))
    assert found.causes == ("hang",) and "at gemm.cu:9" in found.message


POLLS = Access("read", "generic", 4, "LD [R2.64+0x4]", 0x7000, 0x7000, np.zeros(1, np.uint64), np.zeros(1, np.int64))


def test_a_barrier_of_the_grid_that_blocks_have_left_without_is_a_misuse() -> None:
    found = hung(standing("gemm.cu:9", 1, "", POLLS), standing("gemm.cu:9", 63, "at barrier"), call="cuLaunchCooperativeKernel")
    assert found.causes == ("barrier-misuse",) and found.attribution == "this"
    assert "1 of its 2 blocks have left the kernel" in found.message or "1 of its 2 blocks" in found.message


def test_blocks_that_are_all_there_or_of_another_launch_say_nothing_of_barriers() -> None:
    both = np.zeros(2, LANES.dtype)
    both["grid"], both["block"][1] = 1, (1, 0, 0)
    assert hung(standing("gemm.cu:9", 1, "", POLLS), call="cuLaunchCooperativeKernel", lanes=both).causes == ("hang",)
    assert hung(standing("gemm.cu:9", 1, "", POLLS)).causes == ("hang",)
