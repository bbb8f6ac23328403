"""Faults of memory in CUDA processes: loud where the record shows them, silent in their correct twins."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from support.cuda_world import CudaWorld
from support.detecting import Look
from support.typed import access, beyond, label

from gpudx.detectors import Run, host_pointer_on_device
from gpudx.diagnose import diagnose
from gpudx.facts import derive
from gpudx.model import Finding, Outcome

SCALE, COPY = "_Z5scalePfi", "_Z4copyPfPKfi"


@pytest.fixture
def cuda(schema: str) -> CudaWorld:
    return CudaWorld(schema)


def only(found: list[Finding], name: str) -> Finding:
    (one,) = [f for f in found if f.id == name]
    return one


def ids(found: list[Finding]) -> set[str]:
    return {f.id for f in found}


def test_a_correct_process_is_silent(cuda: CudaWorld, look: Look) -> None:
    a, b = cuda.alloc(4096), cuda.alloc(4096)
    kernel = cuda.kernel(COPY, [8, 8, 4])
    cuda.call("cuMemcpyHtoD_v2", dst=a, src=0x5000, size=4096)
    cuda.launch(kernel, [b, a + 64, 1008])
    cuda.sync()
    cuda.call("cuMemcpyDtoH_v2", dst=0x5000, src=b, size=4096)
    cuda.free(a)
    cuda.free(b)
    assert not look(cuda)


def test_use_after_free_is_told_although_the_run_passed(cuda: CudaWorld, look: Look) -> None:
    memory, kernel = cuda.alloc(4096), cuda.kernel(SCALE, [8, 4])
    cuda.launch(kernel, [memory, 1024])
    cuda.free(memory)
    cuda.launch(kernel, [memory + 16, 1024])
    cuda.launch(kernel, [memory + 16, 1024])
    one = only(look(cuda), "use-after-free")
    assert one.severity == "error" and one.count == 2 and label(one) == "memory #1"
    assert one.site is not None and one.site.launch == 2 and one.site.argument == 0 and one.site.kernel == "scale"
    assert "argument 0 (float*)" in one.message and access(one).offset == 16


def test_address_that_was_allocated_again_is_silent(cuda: CudaWorld, look: Look) -> None:
    memory, kernel = cuda.alloc(4096), cuda.kernel(SCALE, [8, 4])
    cuda.free(memory)
    cuda.alloc(8192, at=memory)
    cuda.launch(kernel, [memory + 4096, 1024])
    assert not look(cuda)


def test_stream_ordered_free_after_the_use_is_silent(cuda: CudaWorld, look: Look) -> None:
    kernel = cuda.kernel(SCALE, [8, 4])
    memory = cuda.create("cuMemAllocAsync", result=0x7E0000000000, size=512, queue=cuda.queue)
    cuda.launch(kernel, [memory, 128])
    cuda.call("cuMemFreeAsync", mem=memory, queue=cuda.queue)
    assert not look(cuda)
    cuda.launch(kernel, [memory, 128])
    assert only(look(cuda), "use-after-free").count == 1


def test_end_of_live_memory_where_freed_memory_begins_is_silent(cuda: CudaWorld, look: Look) -> None:
    memory, kernel = cuda.alloc(4096), cuda.kernel(COPY, [8, 8, 4])
    behind = cuda.alloc(4096, at=memory + 4096)
    cuda.free(behind)
    cuda.launch(kernel, [memory, memory + 4096, 1])
    assert not look(cuda)


@pytest.mark.parametrize("peers", [False, True])
def test_memory_of_another_device(cuda: CudaWorld, look: Look, peers: bool) -> None:
    for number in (1, 2):
        cuda.note("note_context", {"number": number, "context": cuda.context + number, "device": number - 1})
    cuda.note("note_device", {"device": 1, "type": 4}, "another device", "1.0", [1])
    if peers:
        cuda.call("cuCtxEnablePeerAccess", peer=cuda.context + 1)
    kernel = cuda.kernel(SCALE, [8, 4])
    memory = cuda.create("cuMemAlloc_v2", result=0x7C0000000000, size=64, in_context=1)
    cuda.launch(kernel, [memory, 4], in_context=1)
    cuda.launch(kernel, [memory, 4], in_context=2)
    found = look(cuda)
    assert [(f.id, f.severity) for f in found] == ([] if peers else [("wrong-device-pointer", "warning")])


@pytest.mark.parametrize(("context", "status", "said"), [(1, 0, []), (2, 0, ["warning"]), (2, 700, ["error"])])
def test_memory_of_another_context_of_the_device(cuda: CudaWorld, look: Look, context: int, status: int, said: list[str]) -> None:
    for number in (1, 2):
        cuda.note("note_context", {"number": number, "context": cuda.context + number, "device": 0})
    memory = cuda.create("cuMemAlloc_v2", result=0x7C0000000000, size=64, in_context=1)
    cuda.launch(cuda.kernel(SCALE, [8, 4]), [memory, 4], in_context=context)
    cuda.sync(status=status, in_context=context)
    found = look(cuda, *(("exit",) if status else ()))
    assert [f.severity for f in found if f.id == "wrong-context-pointer"] == said


@pytest.mark.parametrize(
    ("more", "launches", "status"),
    [([], 1, "confirmed"), (["own"], 1, "likely"), ([], 2, "likely")],
    ids=["nothing within reach", "one that is", "another launch"],
)
def test_a_launch_that_faulted_with_memory_of_another_device(
    cuda: CudaWorld, look: Look, more: list[str], launches: int, status: str
) -> None:
    """Confirmed only of the one launch that can have faulted, and if it could access nothing that it was given."""
    for number in (1, 2):
        cuda.note("note_context", {"number": number, "context": cuda.context + number, "device": number - 1})
    cuda.note("note_device", {"device": 1, "type": 4}, "another device", "1.0", [1])
    memory = cuda.create("cuMemAlloc_v2", result=0x7C0000000000, size=64, in_context=1)
    own = cuda.create("cuMemAlloc_v2", result=0x7D0000000000, size=64, in_context=2)
    kernel = cuda.kernel(COPY, [8, 8, 4])
    for _ in range(launches):
        cuda.launch(kernel, [memory, own if more else memory, 4], in_context=2)
    cuda.sync(status=700, in_context=2)
    found = look(cuda, "exit", exit_code=1)
    (entry, *_) = diagnose(found, Outcome("exit", "", 1))
    assert (entry.cause, entry.status) == ("wrong-device-pointer", status)


@pytest.mark.parametrize("pageable", [0, 1])
def test_host_memory_given_to_a_kernel(schema: str, tmp_path: Path, pageable: int) -> None:
    cuda = CudaWorld(schema, device={"pageable_access": pageable})
    cuda.launch(cuda.kernel(SCALE, [8, 4]), [0x55550000, 4])
    cuda.sync(status=700)
    facts = derive(cuda.write(tmp_path / "1-0.gdx"))
    facts.symbols.kind = lambda address: "heap"  # type: ignore[method-assign]
    found = list(host_pointer_on_device.detect(facts, Run(Outcome("exit", "", 1))))
    assert [f.severity for f in found] == ([] if pageable else ["error"])


def test_copy_from_freed_memory(cuda: CudaWorld, look: Look) -> None:
    memory = cuda.alloc(64)
    cuda.free(memory)
    cuda.call("cuMemcpyDtoH_v2", dst=0x5000, src=memory, size=64)
    one = only(look(cuda), "use-after-free")
    assert "cuMemcpyDtoH_v2 read it" in one.message


def test_stale_address_inside_a_structure_is_a_warning(cuda: CudaWorld, look: Look) -> None:
    memory, kernel = cuda.alloc(4096), cuda.kernel("_Z3run6Params", [24])
    cuda.free(memory)
    cuda.launch(kernel, [struct.pack("<QQQ", 1, memory + 8, 2)])
    one = only(look(cuda), "use-after-free")
    assert one.severity == "warning" and "byte 8 of argument 0" in one.message


def test_kernels_without_types_are_looked_at_too(cuda: CudaWorld, look: Look) -> None:
    memory, kernel = cuda.alloc(4096), cuda.kernel("triton_kernel", [8, 8])
    cuda.free(memory)
    cuda.launch(kernel, [memory, 77])
    assert only(look(cuda), "use-after-free").site.argument == 0  # type: ignore[union-attr]


def test_graph_with_freed_memory(cuda: CudaWorld, look: Look) -> None:
    memory, kernel = cuda.alloc(4096), cuda.kernel(SCALE, [8, 4])
    graph = cuda.graph(kernel, [memory, 4])
    cuda.call("cuGraphLaunch", graph_exec=graph, queue=cuda.queue)
    assert not look(cuda)
    cuda.free(memory)
    cuda.call("cuGraphLaunch", graph_exec=graph, queue=cuda.queue)
    one = only(look(cuda), "graph-holds-dead-pointer")
    assert one.severity == "error" and "kernel scale, still has it as argument 0" in one.message and one.count == 1


def test_null_pointer_needs_a_fault_to_be_an_error(cuda: CudaWorld, look: Look) -> None:
    kernel = cuda.kernel(SCALE, [8, 4])
    cuda.launch(kernel, [0, 4])
    assert only(look(cuda), "null-pointer").severity == "warning"
    cuda.sync(status=700)
    assert only(look(cuda, "exit"), "null-pointer").severity == "error"


def test_null_that_a_kernel_allows_is_silent(cuda: CudaWorld, look: Look) -> None:
    kernel = cuda.kernel(SCALE, [8, 4])
    cuda.launch(kernel, [0, 4])
    cuda.sync()
    cuda.launch(kernel, [0, 4])
    assert not look(cuda)


@pytest.mark.parametrize(("size", "past"), [(100, 36), (64, 0)])
def test_copy_past_the_end(cuda: CudaWorld, look: Look, size: int, past: int) -> None:
    memory = cuda.alloc(64)
    cuda.call("cuMemcpyHtoD_v2", dst=memory, src=0x5000, size=size)
    found = look(cuda)
    assert [beyond(f) for f in found] == ([past] if past else [])
    if past:
        assert "36 bytes past the end of memory #1, which has 64 bytes" in found[0].message


def test_fill_of_rows_past_the_end(cuda: CudaWorld, look: Look) -> None:
    memory = cuda.alloc(1024)
    cuda.call("cuMemsetD2D32_v2", dst=memory, pitch=256, value=0, width=64, height=4)
    assert not look(cuda)
    cuda.call("cuMemsetD2D32_v2", dst=memory, pitch=256, value=0, width=64, height=5)
    assert beyond(only(look(cuda), "copy-range")) == 256


def test_mappings_side_by_side_are_one(cuda: CudaWorld, look: Look) -> None:
    first = cuda.create("cuMemMap", result=0x7D0000000000, size=1 << 21)
    cuda.create("cuMemMap", result=first + (1 << 21), size=1 << 21)
    cuda.call("cuMemsetD8_v2", dst=first + 16, value=0, count=1 << 21)
    assert not look(cuda)
    cuda.call("cuMemUnmap", mem=first, size=1 << 22)
    cuda.call("cuMemsetD8_v2", dst=first + (1 << 21) + 16, value=0, count=16)
    assert ids(look(cuda)) == {"use-after-free"}


def damaged(cuda: CudaWorld, memory: int, size: int, since: int) -> None:
    words = {"address": memory, "size": size, "offset": size + 4, "bytes": 8, "seen": 7, "since": since}
    cuda.note("note_canary", words)


def fenced(cuda: CudaWorld, size: int) -> int:
    """The note comes before the end of the call in life; for the address it is all the same."""
    memory = cuda.alloc(size)
    words = {
        "object": memory,
        "address": memory,
        "size": size,
        "begin": memory - 4096,
        "end": memory + 8192,
        "state": 1,
    }
    cuda.note("note_fence_block", words | {"align": 256, "edge": 1})
    return memory


def test_a_write_outside_an_allocation_is_of_the_launch_that_was_given_it(cuda: CudaWorld, look: Look) -> None:
    memory, other, kernel = fenced(cuda, 252), fenced(cuda, 252), cuda.kernel(SCALE, [8, 4])
    cuda.launch(kernel, [memory, 63])
    cuda.sync()
    since = cuda._now + 1
    cuda.launch(kernel, [other, 63])
    cuda.launch(kernel, [memory, 64])
    cuda.sync()
    damaged(cuda, memory, 252, since)
    one = only(look(cuda), "write-outside-allocation")
    assert "8 bytes, 4 bytes past the end of memory #1 (252 bytes)" in one.message
    assert one.site is not None and one.site.launch == 3 and one.attribution in ("this", "probable")
    assert any("1 other launch in that time" in e.text for e in one.evidence)


def test_of_several_launches_that_were_given_it_none_is_named(cuda: CudaWorld, look: Look) -> None:
    memory, kernel = fenced(cuda, 252), cuda.kernel(SCALE, [8, 4])
    since = cuda._now + 1
    for _ in range(3):
        cuda.launch(kernel, [memory, 64])
    cuda.sync()
    damaged(cuda, memory, 252, since)
    found = look(cuda)
    one = only(found, "write-outside-allocation")
    assert one.site is None and len(one.others) == 3
    assert diagnose(found, Outcome("passed", ""))[0].status == "inconclusive"
