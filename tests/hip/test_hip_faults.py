"""Faults of HIP programs and what is said of them. Programs are built by the real hipcc; execution is simulated."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest
from hip_kit import Kit

from gpudx.backends.hip.messages import fault


def diagnosed(kit: Kit, folder: Path, *words: str, **environment: str) -> dict[str, Any]:
    return kit.case_of(kit.hip_program("faults"), folder, *words, **environment)


def printed(case: dict[str, Any]) -> list[dict[str, Any]]:
    return [f for f in case["findings"] if f["id"] == "device-fault-printed"]


def test_the_printed_page_is_located_behind_a_buffer(kit: Kit, tmp_path: Path) -> None:
    case = diagnosed(kit, tmp_path, "past", GPUDX_HIP_SIM_FAULT="abort")
    (found,) = printed(case)
    best = case["diagnosis"][0]
    assert case["outcome"]["signal"] == signal.SIGABRT.name
    assert "right past the end of memory #1 (4,096 bytes)" in found["message"]
    assert (best["cause"], best["status"]) == ("out-of-bounds-access", "confirmed")
    assert (best["guilty"]["kernel"], best["guilty"]["argument"]) == ("touch", 0)


def test_the_printed_page_is_located_in_freed_memory(kit: Kit, tmp_path: Path) -> None:
    case = diagnosed(kit, tmp_path, "freed", GPUDX_HIP_SIM_FAULT="abort")
    (found,) = printed(case)
    assert "which hipFree (call " in found["message"] and found["root"]["call"] == "hipFree"
    assert case["diagnosis"][0]["cause"] == "use-after-free"


def test_a_null_pointer_is_told_as_such(kit: Kit, tmp_path: Path) -> None:
    case = diagnosed(kit, tmp_path, "null", GPUDX_HIP_SIM_FAULT="abort")
    (found,) = printed(case)
    assert "that of a null pointer" in found["message"] and found["causes"] == ["null-pointer"]


def test_nothing_is_printed_where_nothing_faults(kit: Kit, tmp_path: Path) -> None:
    case = diagnosed(kit, tmp_path, "good", GPUDX_HIP_SIM_FAULT="abort")
    assert case["outcome"]["kind"] == "passed"
    assert not [f for f in case["findings"] if f["severity"] != "info"]  # LD_LIBRARY_PATH is told as a setting


def test_breadcrumbs_show_which_of_two_launches_was_running(kit: Kit, tmp_path: Path) -> None:
    """Both were given memory, and the second had not begun."""
    case = diagnosed(kit, tmp_path, "first", GPUDX_HIP_SIM_FAULT="abort")
    (found,) = printed(case)
    told = [e["text"] for e in found["evidence"]]
    assert "0 of 2 launches had completed when the device stopped" in told
    assert any(text.startswith("launch 1 of kernel touch was running, with") for text in told)
    assert not any("launch 2" in text for text in told)
    best = case["diagnosis"][0]
    assert (best["status"], best["guilty"]["launch"]) == ("confirmed", 1)


def test_without_breadcrumbs_the_launch_is_only_likely(kit: Kit, tmp_path: Path) -> None:
    case = diagnosed(kit, tmp_path, "first", GPUDX_HIP_SIM_FAULT="abort", GPUDX_CRUMBS="off")
    best = case["diagnosis"][0]
    assert (best["status"], best["guilty"]["launch"]) == ("likely", 1)  # the only one that was given this memory


@pytest.mark.parametrize("fault", ["abort", "queue-fault"])
def test_a_launch_beside_a_graph_is_not_accused_of_the_graphs_fault(kit: Kit, tmp_path: Path, fault: str) -> None:
    """The kernel of the graph faults; the plain launch beside it was given the same memory, and is correct."""
    environment = {"GPUDX_HIP_SIM_FAULT": fault, "GPUDX_CRUMBS": "off", "GPUDX_HIP_SIM_DELAY_MS": "30"}
    case = diagnosed(kit, tmp_path, "graph", **environment)
    assert case["outcome"]["kind"] != "passed"
    assert all(one["status"] != "confirmed" for one in case["diagnosis"])


def test_the_undersized_buffer_is_shown_with_its_numbers(kit: Kit, tmp_path: Path) -> None:
    """The program of the story in docs/amd.md, on a runtime that prints the page and aborts, or shuts the queue down."""
    built = kit.incident("hip-rope-misattributed")
    known = {
        "abort": ("undersized-buffer", "argument 0 holds 64 x 256 = 16,384 elements, allocated at"),
        "queue-fault": ("out-of-bounds-access", "it has room for 16,384 values, but argument 3 x argument 4 (64 x 512) require 32,768"),
    }
    for how, (cause, told) in known.items():
        best = kit.case_of(built, tmp_path / how, GPUDX_HIP_SIM_FAULT=how)["diagnosis"][0]
        assert (best["cause"], best["status"]) == (cause, "confirmed"), best
        assert (best["guilty"]["kernel"], best["guilty"]["launch"], best["guilty"]["argument"]) == ("gemm_f32", 2, 0)
        assert told in best["summary"]
    assert "main.cpp:81" in json.dumps(kit.case_of(built, tmp_path / "again", GPUDX_HIP_SIM_FAULT="abort")["diagnosis"][0])


def test_a_blocking_launch_may_be_its_own_fault(kit: Kit, tmp_path: Path) -> None:
    """The launch before it ended well, which nothing shows without breadcrumbs: it must not be blamed alone."""
    case = diagnosed(kit, tmp_path, "second", HIP_LAUNCH_BLOCKING="1", GPUDX_CRUMBS="off")
    best = case["diagnosis"][0]
    assert best["cause"] == "device-error-reported" and best["status"] == "inconclusive"
    assert "this launch or the launch before it" in best["summary"]


def test_breadcrumbs_show_that_the_launch_before_a_blocking_one_ended(kit: Kit, tmp_path: Path) -> None:
    best = diagnosed(kit, tmp_path, "second", HIP_LAUNCH_BLOCKING="1")["diagnosis"][0]
    assert best["status"] == "likely" and best["guilty"]["launch"] == 2  # the launch is known; the status is no cause


@pytest.mark.parametrize("crumbs", ["", "off"])
def test_a_call_on_one_device_may_report_the_fault_of_another(kit: Kit, tmp_path: Path, crumbs: str) -> None:
    """The wait on device 0 reports what the launch on device 1 did: the launch on device 0 is innocent."""
    environment = {"GPUDX_HIP_SIM_DEVICES": "2", "GPUDX_HIP_SIM_DELAY_MS": "30", "GPUDX_CRUMBS": crumbs}
    case = kit.case_of(kit.hip_program("two_halves"), tmp_path, "wrong", **environment)
    best = case["diagnosis"][0]
    assert (best["cause"], best["guilty"]["launch"], best["guilty"]["argument"]) == ("wrong-device-pointer", 2, 1)
    assert not [one for one in case["diagnosis"] if one["guilty"] and one["guilty"]["launch"] == 1]


def test_a_page_far_from_all_memory_does_not_name_the_nearest(kit: Kit, tmp_path: Path) -> None:
    """The index was read from memory: the page lies nearest to an argument that is innocent."""
    best = kit.case_of(kit.hip_program("indirect"), tmp_path, "index", GPUDX_HIP_SIM_FAULT="abort")["diagnosis"][0]
    assert (best["cause"], best["guilty"]["kernel"], best["guilty"]["launch"]) == ("out-of-bounds-access", "gather", 1)
    assert best["guilty"]["argument"] is None and "from all memory that was passed" in best["summary"]


def test_a_page_of_freed_memory_names_the_graph_whose_kernel_has_it(kit: Kit, tmp_path: Path) -> None:
    best = kit.case_of(kit.hip_program("indirect"), tmp_path, "replay", GPUDX_HIP_SIM_FAULT="abort")["diagnosis"][0]
    assert (best["cause"], best["status"]) == ("use-after-free", "confirmed"), best["summary"]
    assert (best["guilty"]["call"], best["guilty"]["kernel"], best["guilty"]["argument"]) == ("hipGraphLaunch", "gather", 1)


def test_a_table_and_a_graph_in_order_are_no_fault(kit: Kit, tmp_path: Path) -> None:
    case = kit.case_of(kit.hip_program("indirect"), tmp_path, "good", GPUDX_HIP_SIM_FAULT="abort")
    assert case["outcome"]["kind"] == "passed" and not [f for f in case["findings"] if f["severity"] != "info"]


def test_halves_on_their_own_devices_are_no_fault(kit: Kit, tmp_path: Path) -> None:
    case = kit.case_of(kit.hip_program("two_halves"), tmp_path, "right", GPUDX_HIP_SIM_DEVICES="2")
    assert case["outcome"]["kind"] == "passed" and not [f for f in case["findings"] if f["severity"] != "info"]


def test_refused_launches_name_the_limits_of_amd(kit: Kit, tmp_path: Path) -> None:
    case = diagnosed(kit, tmp_path, "limits")
    (found,) = [f for f in case["findings"] if f["id"] == "launch-refused"]
    told = found["message"] + " ".join(e["text"] for e in found["evidence"])
    assert "2,048 threads, but the device allows 1,024" in told


@pytest.mark.parametrize(
    ("text", "address"),
    [
        (
            "Memory access fault by GPU node-1 (Agent handle: 0x5) on address 0x7f12345000. Reason: Unknown.",
            0x7F12345000,
        ),
        ("Memory access fault by GPU node-4 on address (nil). Reason: Page not present or supervisor privilege.", 0),
    ],
)
def test_what_the_runtime_prints_is_read(text: str, address: int) -> None:
    found = fault(text)
    assert found is not None and found.address == address
    assert fault("Memory is fine") is None
