"""What the hooks write down, read back through gpudx.trace."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from cuda_kit import Call, Kit, decode, of, values

from gpudx.backends.cuda.textures import is_normalized
from gpudx.trace import Trace

CAPTURED = 8


@pytest.fixture(scope="module")
def trace(kit: Kit) -> Trace:
    return kit.run([kit.program("tour", way="BY_PROC_ADDRESS")]).trace()


@pytest.fixture(scope="module")
def calls(trace: Trace) -> list[Call]:
    return decode(trace)


def named(trace: Trace, calls: list[Call], kernel: str) -> int:
    """The handle of a kernel."""
    return next(c.words["kernel"] for c in of(calls, "note_kernel") if trace.text(c.position) == kernel)


def test_allocations_have_address_size_and_context(calls: list[Call]) -> None:
    made = of(calls, "cuMemAlloc_v2")
    assert [c.words["size"] for c in made if c.status == 0] == [4000, 4000, 4000, 512]
    freed = [c.words["mem"] for c in of(calls, "cuMemFree_v2")]
    assert [c.words["result"] for c in made if c.status == 0] == freed
    (note,) = of(calls, "note_context")
    assert all(c.context == note.words["number"] for c in made)


def test_copies_say_which_default_stream_they_used(calls: list[Call]) -> None:
    copies = of(calls, "cuMemcpyHtoD_v2", "cuMemsetD8_v2", "cuMemcpyDtoH_v2")
    assert len(copies) == 4 and all(c.words["queue"] == 0 for c in copies)


def test_a_structured_copy_is_worked_out(trace: Trace, calls: list[Call]) -> None:
    (box,) = of(calls, "cuMemcpy2D_v2")
    (memory,) = [c.words["result"] for c in of(calls, "cuMemAlloc_v2") if c.words["size"] == 512]
    assert box.words["dst"] == memory + 2 * 128
    assert (box.words["width"], box.words["height"], box.words["src_pitch"], box.words["dst_pitch"]) == (32, 2, 64, 128)
    assert box.words["kinds"] == 1 + 256 * 2
    raw = trace.array(box.position, "copy")
    assert len(raw) == 128 and struct.unpack("<2Q", raw[:16]) == (8, 1)


def test_launch_arguments_by_pointers_and_by_buffer(trace: Trace, calls: list[Call]) -> None:
    mixed = named(trace, calls, "mixed")
    launches = [c for c in calls if c.words.get("kernel") == mixed and c.name.startswith("cuLaunch")]
    forms = ["cuLaunchKernel", "cuLaunchKernel", "cuLaunchKernelEx", "cuLaunchCooperativeKernel"]
    assert [c.name for c in launches] == forms
    big = struct.pack("<3di4x", 1.5, 2.5, 3.5, 42)
    expected = [b"\x11", b"\x22" * 2, b"\x33" * 4, b"\x44" * 8, big, b"\x55" * 8]
    for launch in launches:
        assert [data for _, _, data in values(trace, launch.position)] == expected
        assert [size for size, _, _ in values(trace, launch.position)] == [1, 2, 4, 8, 32, 8]


def test_launch_shapes(trace: Trace, calls: list[Call]) -> None:
    mixed = named(trace, calls, "mixed")
    first = next(c for c in of(calls, "cuLaunchKernel") if c.words["kernel"] == mixed)
    shape = [first.words[n] for n in ("grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z", "shared_bytes")]
    assert shape == [1, 2, 3, 4, 5, 6, 64] and first.words["queue"] == 0
    (extended,) = of(calls, "cuLaunchKernelEx")
    attributes = trace.array(extended.position, "config")
    assert len(attributes) == 72 and struct.unpack("<I4x3I", attributes[:20]) == (4, 2, 1, 1)
    assert extended.words["shared_bytes"] == 16


def test_kernels_are_described_once(trace: Trace, calls: list[Call]) -> None:
    notes = of(calls, "note_kernel")
    assert sorted(trace.text(c.position) for c in notes) == ["add", "mixed", "none", "pair", "scale"]
    mixed = next(c for c in notes if trace.text(c.position) == "mixed")
    assert (mixed.words["num_args"], mixed.words["max_work_group_size"], mixed.words["local_mem_size"]) == (6, 100, 101)
    params = next(c for c in of(calls, "note_kernel_params") if c.words["kernel"] == mixed.words["kernel"])
    assert trace.numbers(params.position) == (0, 1, 2, 2, 4, 4, 8, 8, 16, 32, 48, 8)
    scale = next(c for c in notes if trace.text(c.position) == "scale")
    assert scale.words["max_work_group_size"] == 200  # a CUkernel: asked through cuKernelGetAttribute


def test_the_device_is_described_with_its_limits(trace: Trace, calls: list[Call]) -> None:
    (device,) = of(calls, "note_device")
    assert trace.text(device.position) == "Fake device for tests"
    assert trace.text(device.position, "text2") == "CUDA driver API 13.0"
    assert device.words["max_work_group_size"] == 1024 and device.words["global_mem_size"] == 1 << 30
    told = trace.numbers(device.position)
    assert len(told) == 29 and told[7:9] == (49152, 232448) and told[16:18] == (9, 0) and told[20] == 13000


def test_the_schema_names_the_numbers(trace: Trace, kit: Kit) -> None:
    text = (kit.generated / "schema.json").read_text()
    assert '"numbers":"max_x max_y max_z parameter_bytes' in text


def test_captured_work_is_marked_and_graphs_are_described(trace: Trace, calls: list[Call]) -> None:
    pair = named(trace, calls, "pair")
    (captured,) = [c for c in of(calls, "cuLaunchKernel") if c.words["kernel"] == pair]
    assert captured.flags & CAPTURED
    assert not any(c.flags & CAPTURED for c in calls if c is not captured)
    first, second = of(calls, "note_graph_kernel")
    execs = [c.words["graph_exec"] for c in of(calls, "cuGraphLaunch")]
    assert [first.words["graph_exec"], second.words["graph_exec"]] == execs
    assert [data for _, _, data in values(trace, first.position)] == [struct.pack("<i", 100), struct.pack("<i", 200)]
    assert [c.words["described"] for c in of(calls, "note_graph")] == [1, 1]


def test_changed_nodes_are_recorded_with_their_arguments(trace: Trace, calls: list[Call]) -> None:
    (change,) = of(calls, "cuGraphExecKernelNodeSetParams_v2")
    assert [data for _, _, data in values(trace, change.position)] == [struct.pack("<i", -1), struct.pack("<i", 300)]
    assert change.words["grid_x"] == 5 and change.words["block_x"] == 6
    assert trace.numbers(change.position) == (128,)


def test_polls_that_say_not_ready_are_not_recorded(calls: list[Call]) -> None:
    assert [c.status for c in of(calls, "cuEventQuery")] == [0]
    assert [c.status for c in of(calls, "cuStreamQuery")] == [0]


def test_queries_are_recorded_only_when_they_fail(calls: list[Call]) -> None:
    assert [c.status for c in of(calls, "cuDeviceGetCount")] == [3]  # before cuInit
    assert [c.status for c in of(calls, "cuPointerGetAttribute")] == [1]
    assert not of(calls, "cuMemGetInfo_v2", "cuDeviceGet", "cuCtxSetCurrent", "cuDriverGetVersion", "cuGetErrorName")


def test_failing_calls_come_with_a_stack_and_queries_without(calls: list[Call], trace: Trace) -> None:
    failed = [c for c in calls if c.status and not c.name.startswith("note_")]
    stacks = {c.words["of"] for c in of(calls, "note_stack")}
    places = trace.slot_address(np.array([c.position for c in failed]))
    with_stack = {c.name for c, place in zip(failed, places, strict=True) if int(place) in stacks}
    assert with_stack == {"cuLaunchKernel", "cuMemAlloc_v2", "cuModuleGetFunction", "cuModuleLoadDataEx"}
    assert {c.name for c in failed} - with_stack == {"cuDeviceGetCount", "cuPointerGetAttribute"}


def test_the_compilers_words_are_kept(trace: Trace, calls: list[Call]) -> None:
    (log,) = of(calls, "note_build_log")
    assert trace.text(log.position) == "fake error: not a kernel" and log.words["status"] == 218


def test_module_images_and_names_are_kept(trace: Trace, calls: list[Call]) -> None:
    loads = of(calls, "cuModuleLoadData", "cuModuleLoadDataEx", "cuLibraryLoadData")
    notes = of(calls, "note_image")
    assert [c.words["image"] for c in notes] == [c.words["image"] for c in loads]
    assert [c.position for c in notes] == [c.position + 1 for c in loads]
    begins = [trace.text(c.position).partition("\n")[0] for c in notes]
    assert begins == ["kernel add 8 8 8 4", "kernel scale 4 4", "kernel pair 4 4", "nonsense"]
    names = [trace.array(c.position, "name").decode() for c in of(calls, "cuModuleGetFunction")]
    assert names == ["add", "mixed", "none", "pair", "missing"]


def test_error_names_travel_with_the_trace(trace: Trace) -> None:
    assert trace.schema.errors["cuda"][700] == "CUDA_ERROR_ILLEGAL_ADDRESS"


def test_lives_go_to_the_ledger_and_work_to_the_ring(kit: Kit) -> None:
    """A small ring loses old launches, never objects."""
    ran = kit.run([kit.program("threads")], env={"GPUDX_KEEP": "524288"})
    calls = decode(ran.traces()[0])
    assert 0 < len(of(calls, "cuLaunchKernel")) < 10000
    assert len(of(calls, "cuCtxCreate_v2")) == 3 and len(of(calls, "cuModuleGetFunction")) == 1


def test_how_a_texture_is_addressed(kit: Kit) -> None:
    """The first one is created without a description."""
    trace = kit.run([kit.program("textured")]).trace()
    made = [call.position for call in of(decode(trace), "cuTexObjectCreate")]
    assert [is_normalized(trace.array(position, "texture")) for position in made] == [None, True]
