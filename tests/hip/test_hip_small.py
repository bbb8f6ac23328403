"""gpudx investigate on small programs with one fault each, and on their correct twins. The runtime reports a fault as an error of
later calls, or prints its page and aborts, as ROCm's does: then the verdict is confirmed, with the line to change."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hip_kit import Kit
from test_hip_investigated import QUICK, investigated

from gpudx.model import Case

PRINTS = {"GPUDX_HIP_SIM_FAULT": "abort"}
TWO_DEVICES = {"GPUDX_HIP_SIM_DEVICES": "2"}
# The cause and the line where the page is printed, and the verdict where it is not.
PRINTED = {
    "blur": ("out-of-bounds-access", "blur.hip:17"),
    "retire": ("freed-while-in-use", "retire.hip:25"),
    "shards": ("wrong-device-pointer", "shards.hip:32"),
    "table": ("host-pointer-on-device", "table.hip:19"),
    "scores": ("undersized-buffer", "scores.hip:18"),
    "workspace": ("ignored-error", "workspace.hip:13"),
    "embed": ("index-overflow", "embed.hip:20"),
    "rows": ("host-pointer-on-device", "rows_kernels.hip:14"),
    "batch": ("undersized-buffer", "batch.hip:18"),
    "quads": ("out-of-bounds-access", "quads.hip:17"),
    "packed": ("argument-size", "packed.hip:24"),
    "wide": ("argument-size", "wide.hip:21"),
    "views": ("out-of-bounds-access", "views_kernels.hip:17"),
}
REPORTED = {
    "blur": ("out-of-bounds-access", "confirmed"),
    "retire": ("freed-while-in-use", "confirmed"),
    "shards": ("wrong-device-pointer", "confirmed"),
    "table": ("host-pointer-on-device", "confirmed"),
    "scores": ("undersized-buffer", "confirmed"),
    "workspace": ("ignored-error", "likely"),
    "rows": ("host-pointer-on-device", "confirmed"),
    "batch": ("undersized-buffer", "confirmed"),
    "quads": ("out-of-bounds-access", "confirmed"),
    "packed": ("argument-size", "confirmed"),
    "wide": ("argument-size", "confirmed"),
    "views": ("out-of-bounds-access", "confirmed"),
    "pages": ("out-of-bounds-access", "confirmed"),
    "squares": ("bytes-for-elements", "confirmed"),
}
ABORTED = {  # the runtime shuts the queue down and prints a status, no address
    "shards": ("wrong-device-pointer", "confirmed"),
    "table": ("host-pointer-on-device", "confirmed"),
    "rows": ("host-pointer-on-device", "confirmed"),
    "batch": ("undersized-buffer", "confirmed"),
}
LARGE = "embed"  # fresh memory of 2.4 billion bytes takes seconds to fill


def case_of(kit: Kit, folder: Path, name: str, *more: str, word: str = "", **environment: str) -> tuple[Case, str]:
    built = kit.hip_program(name)
    settings = built.environment | QUICK | environment | (TWO_DEVICES if name == "shards" else {})
    if name in ("packed", "wide"):
        settings["CODE_OBJECT"] = str(kit.code_object_of(name))
    return investigated(kit, folder, replace(built, environment=settings), *more, word=word)


@pytest.mark.parametrize("name", PRINTED)
def test_a_printed_page_confirms_the_cause_and_its_line(kit: Kit, tmp_path: Path, name: str) -> None:
    case, said = case_of(kit, tmp_path, name, **PRINTS)
    cause, line = PRINTED[name]
    assert (case.diagnosis[0].cause, case.diagnosis[0].status) == (cause, "confirmed"), said
    assert f"/{line}" in said, said


@pytest.mark.parametrize("name", REPORTED)
def test_a_reported_error_names_the_cause(kit: Kit, tmp_path: Path, name: str) -> None:
    case, said = case_of(kit, tmp_path, name)
    assert (case.diagnosis[0].cause, case.diagnosis[0].status) == REPORTED[name], said


@pytest.mark.parametrize("name", ABORTED)
def test_an_aborted_queue_does_not_hide_the_cause(kit: Kit, tmp_path: Path, name: str) -> None:
    case, said = case_of(kit, tmp_path, name, GPUDX_HIP_SIM_FAULT="queue-fault")
    assert (case.diagnosis[0].cause, case.diagnosis[0].status) == ABORTED[name], said


def test_room_after_one_buffer_at_a_time_names_the_one_that_is_missed(kit: Kit, tmp_path: Path) -> None:
    """The device reports a fault and no address."""
    case, said = case_of(kit, tmp_path, "quads")
    best = case.diagnosis[0]
    assert best.guilty is not None and best.guilty.allocation is not None, said
    assert best.guilty.argument == 0 and best.guilty.allocation.size == 65536, said
    assert "past the end of buffer #1 (65,536 bytes), allocated at quads.hip:14, its argument 0" in " ".join(said.split())


def test_a_row_length_in_bytes_is_named(kit: Kit, tmp_path: Path) -> None:
    """The device reports no address: that the number is off by the size of an element explains what lies past the end."""
    case, said = case_of(kit, tmp_path, "views")
    assert "argument 1 at byte 16 = 384 is 96 x 4, the length of a row" in " ".join(said.split()), said
    assert case.diagnosis[0].fix == ("Pass argument 1 at byte 16 in elements (96): 384 is the length of a row in bytes.",), said


def test_the_upper_half_of_a_number_that_nobody_passed_is_named(kit: Kit, tmp_path: Path) -> None:
    case, said = case_of(kit, tmp_path, "wide")
    assert "argument 1 is 12,884,906,888 = 3 x 2^32 + 5,000" in " ".join(said.split()), said
    assert case.diagnosis[0].guilty is not None and case.diagnosis[0].guilty.argument == 0, said


def test_room_before_one_buffer_names_what_a_negative_index_misses(kit: Kit, tmp_path: Path) -> None:
    case, said = case_of(kit, tmp_path, "pages")
    best = case.diagnosis[0]
    assert best.guilty is not None and (best.guilty.kernel, best.guilty.argument) == ("gather", 1), said
    assert "accessed memory before the start of buffer #1 (163,840 bytes), allocated at pages.hip:" in " ".join(said.split()), said


def test_no_buffer_is_named_where_two_are_missed(kit: Kit, tmp_path: Path) -> None:
    case, said = case_of(kit, tmp_path, "quads", word="both")
    best = case.diagnosis[0]
    assert (best.cause, best.status) == ("out-of-bounds-access", "confirmed"), said
    assert best.guilty is not None and best.guilty.allocation is None, said


def test_host_memory_in_a_structure_that_the_device_can_reach(kit: Kit, tmp_path: Path) -> None:
    case, said = case_of(kit, tmp_path, "rows", HSA_XNACK="1")
    assert case.outcome.kind == "passed" and not [f for f in case.findings if f.severity != "info"], said


def test_a_missing_wait_between_streams(kit: Kit, tmp_path: Path) -> None:
    """How sure it is depends on how often the sum is wrong."""
    case, said = case_of(kit, tmp_path, "upload")
    best = case.diagnosis[0]
    assert best.cause == "unordered-access" and best.status in ("confirmed", "likely"), said
    assert "/upload.hip:30" in said and "nothing makes it wait" in " ".join(said.split()), said


@pytest.mark.parametrize("name", [*REPORTED, "upload", pytest.param(LARGE, marks=pytest.mark.slow)])
def test_the_correct_twin_is_not_accused(kit: Kit, tmp_path: Path, name: str) -> None:
    case, said = case_of(kit, tmp_path, name, word="good", **PRINTS)
    assert case.outcome.kind == "passed" and not [f for f in case.findings if f.severity == "error"], said
    assert not [one for one in case.diagnosis if one.status in ("confirmed", "likely")], said
