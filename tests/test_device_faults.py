"""Joining the device's own record to the launch that made it, with a record written by hand and a synthetic trace."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from unittest.mock import MagicMock

import numpy as np

from gpudx.diagnose.accesses import CAUSES
from gpudx.diagnose.device_faults import join, launch_of
from gpudx.evidence._cubin import Place
from gpudx.evidence._cuda_dump import Fault, Grid

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
