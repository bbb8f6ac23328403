"""HIP as it is in ROCm 6 and 7: entries, structures and numbers that 5.2 does not have. Execution is simulated (tests/hip/sim, built
in the shape of HIP 7)."""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import Any

import pytest
from cuda_kit import Ran, decode, of, values
from hip_kit import Kit
from test_hip_faults import printed

from gpudx.lab.build import Built

WAYS = ("dlsym", "proc", "entry")


@pytest.fixture
def as_seven(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUDX_HIP_SIM_SHAPE", "7")


@pytest.fixture
def program(kit: Kit) -> Built:
    return Built(
        kit.built("seven", "gcc", "-std=gnu11", "-w", "-g", Path(__file__).parent / "programs/seven.c", "-ldl")
    )


def run(kit: Kit, program: Built, way: str, library: Path, **more: Any) -> Ran:
    return kit.run_hip(program, str(library), way, str(kit.code_object), **more)


@pytest.mark.parametrize("way", WAYS)
def test_functions_are_recorded_whatever_way_they_were_found(kit: Kit, program: Built, way: str) -> None:
    ran = run(kit, program, way, kit.runtime("7"))
    assert ran.returncode == 0, ran.stdout
    assert ran.seen == run(kit, program, way, kit.runtime("7"), record=False).seen
    trace = ran.trace()
    calls = decode(trace)
    (launch,) = of(calls, "hipModuleLaunchCooperativeKernel")
    assert [v[2] for v in values(trace, launch.position)][1] == struct.pack("<i", 7)
    assert [launch.words[n] for n in ("grid_x", "block_x")] == [2, 64]
    recorded = {c.name for c in calls}
    wanted = {"hipLibraryLoadData", "hipLibraryGetKernel", "hipLibraryUnload", "hipGraphAddMemAllocNode"}
    wanted |= {
        "hipGraphAddMemFreeNode",
        "hipExtStreamCreateWithCUMask",
        "hipMallocAsync",
        "hipFreeAsync",
        "hipGraphLaunch",
    }
    assert wanted <= recorded


def test_memory_nodes_of_graphs_are_noted(kit: Kit, program: Built) -> None:
    trace = run(kit, program, "dlsym", kit.runtime("7")).trace()
    made, freed = of(decode(trace), "note_graph_memory")
    assert (made.words["size"], made.words["freed"]) == (4096, 0)
    assert (freed.words["address"], freed.words["freed"]) == (made.words["address"], 1)


def test_a_copy_is_read_in_the_layout_of_the_runtime_that_runs(kit: Kit, program: Built) -> None:
    trace = run(kit, program, "dlsym", kit.runtime("7")).trace()
    calls = decode(trace)
    (memory,) = [c.words["result"] for c in of(calls, "hipMalloc")]
    (copy,) = of(calls, "hipDrvMemcpy3D")
    assert copy.words["dst"] == memory + 5 and copy.words["kinds"] == 0x201
    assert [copy.words[n] for n in ("src_pitch", "dst_pitch", "width", "height", "depth")] == [16, 64, 4, 3, 2]


def test_the_same_copy_in_the_layout_of_hip_5(kit: Kit) -> None:
    built = Built(
        kit.built("box", "gcc", "-w", "-D__HIP_PLATFORM_AMD__", Path(__file__).parent / "programs/box.c", "-ldl")
    )
    ran = kit.run_hip(built, str(kit.runtime("5")))
    assert ran.returncode == 0, ran.stdout
    calls = decode(ran.trace())
    (memory,) = [c.words["result"] for c in of(calls, "hipMalloc")]
    (copy,) = of(calls, "hipDrvMemcpy3D")
    assert copy.words["dst"] == memory + 5 and copy.words["kinds"] == 0x201
    assert [copy.words[n] for n in ("src_pitch", "dst_pitch", "width", "height", "depth")] == [16, 64, 4, 3, 2]
    (flat,) = of(calls, "hipMemcpyParam2D")
    assert flat.words["dst"] == memory + 64 and [flat.words[n] for n in ("width", "height", "kinds")] == [4, 3, 0x201]


def test_a_runtime_of_another_name_is_known_by_what_it_exports(kit: Kit, program: Built, tmp_path: Path) -> None:
    other = tmp_path / "libCHIP.so"
    kit.build_runtime(other, "7")
    ran = run(kit, program, "dlsym", other)
    assert ran.returncode == 0 and len(of(decode(ran.trace()), "hipModuleLaunchCooperativeKernel")) == 1


def test_a_library_with_some_of_the_names_is_left_alone(kit: Kit, tmp_path: Path) -> None:
    """A tool in front of the runtime defines some functions; the program must get those, not ours."""
    source = tmp_path / "tool.c"
    source.write_text(
        "int hipMalloc(void **p, unsigned long n) { *p = (void *)n; return 0; } int hipInit(int f) { return f; }"
    )
    tool = kit.built("libtool.so", "gcc", "-shared", "-fPIC", source)
    main = tmp_path / "main.c"
    main.write_text(
        "#include <dlfcn.h>\nint main(int n, char **w) { void *p, *l = dlopen(w[1], 2);"
        'return ((int (*)(void **, unsigned long))dlsym(l, "hipMalloc"))(&p, 77) || p != (void *)77; }'
    )
    ran = kit.run_hip(Built(kit.built("tooled", "gcc", main, "-ldl")), str(tool))
    assert ran.returncode == 0 and not list(ran.folder.glob("*.gdx"))


def test_pools_give_the_same_memory_again(kit: Kit, program: Built) -> None:
    kept = run(kit, program, "dlsym", kit.runtime("7"), GPUDX_HIP_SIM_POOL="keep")
    assert "gave the same again" in kept.stdout
    assert "gave others" in run(kit, program, "dlsym", kit.runtime("7")).stdout


FAULTS = {
    "abort": "right past the end of memory #1",
    "abort-noreason": "right past the end of memory #1",
    "abort-nonode": "right past the end of memory #1",
    "abort-short": "right past the end of memory #1",
    "abort-inexact": "right past the end of memory #1",
}


@pytest.mark.parametrize("how", FAULTS)
def test_the_page_of_a_fault_is_located_in_every_form_of_the_text(
    kit: Kit, as_seven: None, tmp_path: Path, how: str
) -> None:
    case = kit.case_of(kit.hip_program("faults"), tmp_path, "past", GPUDX_HIP_SIM_FAULT=how)
    (found,) = printed(case)
    assert FAULTS[how] in found["message"]


ABORTS = {
    "queue-aperture": ("HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION", "out-of-bounds-access"),
    "queue-fault": ("HSA_STATUS_ERROR_MEMORY_FAULT", "out-of-bounds-access"),
    "queue-instruction": ("HSA_STATUS_ERROR_ILLEGAL_INSTRUCTION", "device-exception"),
    "queue-exception": ("HSA_STATUS_ERROR_EXCEPTION", "device-trap"),
}


def aborted(case: dict[str, Any]) -> list[dict[str, Any]]:
    return [f for f in case["findings"] if f["id"] == "device-queue-aborted"]


@pytest.mark.parametrize("how", ABORTS)
def test_a_queue_that_is_shut_down_names_the_launch(kit: Kit, as_seven: None, tmp_path: Path, how: str) -> None:
    case = kit.case_of(kit.hip_program("faults"), tmp_path, "past", GPUDX_HIP_SIM_FAULT=how)
    (found,) = aborted(case)
    status, cause = ABORTS[how]
    assert status in found["message"] and "launch 1 of kernel touch" in found["message"]
    assert found["causes"][0] == cause
    assert case["diagnosis"][0]["status"] == "likely"  # a status is no cause by itself


def test_of_several_launches_none_is_accused_for_a_status(kit: Kit, as_seven: None, tmp_path: Path) -> None:
    environment = {"GPUDX_HIP_SIM_FAULT": "queue-exception", "GPUDX_CRUMBS": "off"}
    case = kit.case_of(kit.hip_program("faults"), tmp_path, "second", **environment)
    (found,) = aborted(case)
    assert "2 launches may have been running" in found["message"] and not found.get("site")


def test_breadcrumbs_show_which_launch_a_status_is_about(kit: Kit, as_seven: None, tmp_path: Path) -> None:
    case = kit.case_of(kit.hip_program("faults"), tmp_path, "second", GPUDX_HIP_SIM_FAULT="queue-exception")
    (found,) = aborted(case)
    assert "launch 2 of kernel touch, the only one that may have been running" in found["message"]
    assert case["diagnosis"][0]["status"] == "likely"  # a status is no cause by itself


def test_no_queue_is_said_to_be_shut_down_where_none_was(kit: Kit, as_seven: None, tmp_path: Path) -> None:
    assert not aborted(kit.case_of(kit.hip_program("faults"), tmp_path, "good", GPUDX_HIP_SIM_FAULT="queue-fault"))


def test_memory_of_the_host_is_out_of_reach_without_xnack(kit: Kit, as_seven: None) -> None:
    built = kit.hip_program("hosted")
    assert kit.run_hip(built, "plain").returncode == 1
    assert kit.run_hip(built, "plain", HSA_XNACK="1").returncode == 0
    assert kit.run_hip(built, "plain", GPUDX_HIP_SIM_ARCH="gfx90a:sramecc+:xnack+").returncode == 0
    assert kit.run_hip(built, "registered").returncode == 0


def test_planted_programs_fail_alike_on_both_shapes(kit: Kit, as_seven: None, tmp_path: Path) -> None:
    assert os.environ["GPUDX_HIP_SIM_SHAPE"] == "7"
    case = kit.case_of(kit.hip_program("faults"), tmp_path, "freed", GPUDX_HIP_SIM_FAULT="abort")
    assert case["diagnosis"][0]["cause"] == "use-after-free"
