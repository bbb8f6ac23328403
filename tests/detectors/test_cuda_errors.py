"""Faults of the device that later calls report, and launches that are refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.cuda_world import CudaWorld
from support.detecting import Look
from support.typed import interval

from gpudx.detectors import Run, detect_all
from gpudx.diagnose import diagnose
from gpudx.facts import derive
from gpudx.facts.misses import explain
from gpudx.model import Diagnosis, Finding, Outcome
from gpudx.trace import Gap

SCALE, GEMM = "_Z5scalePfi", "_Z4gemmPfPKfS1_iii"
FAILED = Outcome("exit", "The program exited with status 1.", 1)


@pytest.fixture
def cuda(schema: str) -> CudaWorld:
    return CudaWorld(schema)


def judged(world: CudaWorld, folder: Path) -> tuple[list[Finding], tuple[Diagnosis, ...]]:
    found = list(detect_all(derive(world.write(folder / "1-0.gdx")), Run(FAILED)))
    return found, diagnose(found, FAILED)


def test_the_reporting_call_is_the_victim(cuda: CudaWorld, tmp_path: Path) -> None:
    memory, kernel, other = cuda.alloc(4096), cuda.kernel(SCALE, [8, 4]), cuda.kernel("_Z4ropePfi", [8, 4])
    cuda.launch(kernel, [memory, 1024])
    cuda.sync()
    cuda.launch(kernel, [memory, 1024])
    cuda.launch(other, [memory, 1024])
    report = cuda.call("cuMemcpyDtoH_v2", dst=0x5000, src=memory, size=64, status=700)
    cuda.sync(status=700)
    found, told = judged(cuda, tmp_path)
    assert {f.id for f in found} == {"device-error-reported"}
    assert interval(found[0]).launches == 2 and interval(found[0]).followers == 1
    assert told[0].status == "inconclusive" and told[0].guilty is None
    assert told[0].victim is not None and told[0].victim.site is not None
    assert told[0].victim.site.number == report + 1
    assert [s.launch for s in found[0].others] == [3, 2]


@pytest.mark.parametrize("which", ["its own", "another", "the current one", "one that nobody saw"])
def test_a_wait_for_a_context_that_is_given_covers_that_context(cuda: CudaWorld, tmp_path: Path, which: str) -> None:
    memory, kernel = cuda.alloc(4096), cuda.kernel(SCALE, [8, 4])
    known = {
        "its own": cuda.handle(),
        "another": cuda.handle(),
        "the current one": 0,
        "one that nobody saw": cuda.handle(),
    }
    for number, name in enumerate(("its own", "another"), start=1):
        cuda.note("note_context", {"number": number, "context": known[name], "device": 0})
    cuda.launch(kernel, [memory, 1024], in_context=1)
    cuda.call("cuCtxSynchronize_v2", context=known[which], in_context=1)
    cuda.launch(kernel, [memory, 1024], in_context=1)
    cuda.sync(status=700, in_context=1)
    found, _ = judged(cuda, tmp_path)
    assert interval(found[0]).launches == (1 if which in ("its own", "the current one") else 2)


def test_the_only_suspicious_launch_is_named(cuda: CudaWorld, tmp_path: Path) -> None:
    a, b, good, small = (cuda.alloc(4 * n) for n in (64 * 32, 32 * 96, 64 * 96, 50 * 96))
    gemm, scale = cuda.kernel(GEMM, [8, 8, 8, 4, 4, 4]), cuda.kernel(SCALE, [8, 4])
    cuda.launch(gemm, [good, a, b, 64, 96, 32])
    cuda.launch(gemm, [small, a, b, 64, 96, 32])
    cuda.launch(scale, [a, 2048])
    cuda.sync(status=700)
    _, told = judged(cuda, tmp_path)
    assert told[0].status == "likely" and told[0].guilty is not None
    assert (told[0].guilty.kernel, told[0].guilty.argument, told[0].guilty.launch) == ("gemm", 0, 2)
    assert told[0].guilty.allocation is not None and told[0].guilty.allocation.size == 19200


def test_freed_memory_is_likely_and_not_if_it_ended_before(cuda: CudaWorld, tmp_path: Path) -> None:
    memory, live, kernel = cuda.alloc(4096), cuda.alloc(4096), cuda.kernel(SCALE, [8, 4])
    cuda.free(memory)
    cuda.launch(kernel, [memory, 4])
    cuda.sync()
    cuda.launch(kernel, [live, 4])
    cuda.launch(kernel, [live, 5])
    cuda.sync(status=719)
    _, told = judged(cuda, tmp_path)
    assert [(d.cause, d.status) for d in told] == [("use-after-free", "inconclusive")]
    cuda2 = CudaWorld(cuda.text)
    memory, kernel = cuda2.alloc(4096), cuda2.kernel(SCALE, [8, 4])
    cuda2.free(memory)
    cuda2.launch(kernel, [memory, 4])
    cuda2.sync(status=700)
    _, told = judged(cuda2, tmp_path)
    assert told[0].cause == "use-after-free" and told[0].status == "likely"
    assert told[0].guilty is not None and told[0].guilty.launch == 1


def test_events_and_other_queues(cuda: CudaWorld, tmp_path: Path) -> None:
    memory, kernel = cuda.alloc(4096), cuda.kernel(SCALE, [8, 4])
    other, event = cuda.create("cuStreamCreate", flags=1), cuda.create("cuEventCreate")
    cuda.launch(kernel, [memory, 1], queue=other)
    cuda.call("cuEventRecord", event=event, queue=other)
    cuda.launch(kernel, [memory, 2], queue=other)
    cuda.launch(kernel, [memory, 3])
    cuda.call("cuEventSynchronize", event=event)
    cuda.sync()
    cuda.sync(status=700)
    found, told = judged(cuda, tmp_path)
    assert [s.launch for s in found[0].others] == [2]
    assert told[0].status == "likely" and told[0].cause == "out-of-bounds-access"
    assert told[0].guilty is not None and told[0].guilty.launch == 2


@pytest.mark.parametrize(("since", "complete"), [("the wait", True), ("the launch", False)])
def test_overwritten_calls_do_not_matter_where_all_was_waited_for_after_them(
    cuda: CudaWorld, tmp_path: Path, since: str, complete: bool
) -> None:
    memory, kernel = cuda.alloc(4096), cuda.kernel(SCALE, [8, 4])
    cuda.launch(kernel, [memory, 1024])
    wait = cuda.call("cuCtxSynchronize")
    launch = cuda.launch(kernel, [memory, 1024])
    cuda.call("cuCtxSynchronize", status=700)
    facts = derive(cuda.write(tmp_path / "1-0.gdx"))
    begin = facts.trace.column("begin")
    facts.trace.__dict__["whole_since"] = int(begin[wait if since == "the wait" else launch])
    facts.trace.gaps = (Gap("overwritten", "the oldest 5 calls were overwritten", 5),)
    told = diagnose(list(detect_all(facts, Run(FAILED))), FAILED)
    assert told[0].status == "likely" and told[0].guilty is not None
    assert ("some work is missing" in told[0].reason) == (not complete)


def test_not_ready_is_no_failure(cuda: CudaWorld, look: Look) -> None:
    cuda.call("cuStreamQuery", queue=cuda.queue, status=600)
    assert not look(cuda, "exit")


def test_misaligned_and_negative_only_with_a_fault(cuda: CudaWorld, look: Look) -> None:
    memory, kernel = cuda.alloc(4096), cuda.kernel("_Z6gatherPfii", [8, 4, 4])
    cuda.launch(kernel, [memory + 2, 100, -8])
    assert not look(cuda)
    cuda.sync(status=716)
    found = {f.id: f.severity for f in look(cuda, "exit")}
    assert found == {
        "misaligned-pointer": "warning", "negative-stride": "warning", "device-error-reported": "error",
    }  # fmt: skip


def test_refused_launch_lists_every_limit_and_no_other(cuda: CudaWorld, look: Look) -> None:
    memory = cuda.alloc(4096)
    kernel = cuda.kernel(SCALE, [8, 4], threads=512, shared=1024, registers=120, max_dynamic_shared=48128)
    cuda.launch(kernel, [memory, 4], (1, 70000, 1), (1024, 1, 1), shared=49152, status=1)
    (one,) = [f for f in look(cuda, "exit") if f.id == "launch-refused"]
    assert "the grid has 70,000 blocks in y, but the device allows 65,535" in one.message
    assert "1,024 threads, this kernel can have 512" in one.message
    assert "1,024 threads of 120 registers need 122,880 registers, a block can have 65,536" in one.message
    assert "the kernel is limited to 48,128; it can request up to 231,424" in one.message
    assert len(one.evidence) == 4 + 1


@pytest.mark.parametrize("reads", [True, False])
def test_a_refused_launch_whose_memory_is_in_a_structure_is_missed_if_it_is_read(cuda: CudaWorld, look: Look, reads: bool) -> None:
    """Other launches are taken afterwards: only one that reads what the refused one should have written shows that it was no trial."""
    field, other = cuda.alloc(4096), cuda.alloc(4096)
    step, total = cuda.kernel("_Z4step3Vol", [24]), cuda.kernel("_Z5total3Vol", [24])
    volume = field.to_bytes(8, "little") + bytes(range(1, 17))
    cuda.launch(step, [volume], (4, 1, 1), (32, 8, 8), status=1)
    cuda.launch(total, [volume if reads else other.to_bytes(8, "little") + bytes(range(1, 17))])
    cuda.sync()
    found = [f for f in look(cuda, "exit") if f.id == "launch-refused"]
    assert [f.severity for f in found] == ["error" if reads else "info"] and "2,048 threads" in found[0].message


def test_limits_that_the_program_raised_before_the_launch(cuda: CudaWorld, look: Look) -> None:
    kernel = cuda.kernel("_Z4nonev", [], max_dynamic_shared=49152)
    cuda.call("cuFuncSetAttribute", kernel=kernel, attribute=8, value=100000)
    cuda.launch(kernel, [], (1, 1, 1), (2000, 1, 1), shared=90000, status=1)
    (one,) = [f for f in look(cuda, "exit") if f.id == "launch-refused"]
    assert "shared memory" not in one.message and len(one.evidence) == 2 + 1


def test_where_an_access_missed(cuda: CudaWorld, tmp_path: Path) -> None:
    memory, gone, far = cuda.alloc(4096), cuda.alloc(512), cuda.alloc(64)
    kernel = cuda.kernel("_Z4copyPfPKfS_", [8, 8, 8])
    cuda.free(gone)
    cuda.launch(kernel, [memory, gone, 0], (2, 1, 1))
    facts = derive(cuda.write(tmp_path / "1-0.gdx"))
    row = int(facts.launches.find("copy", (2, 1, 1), (32, 1, 1), len(facts.trace))[0])
    assert explain(facts, row, memory + 4099).text == "3 bytes past the end of memory #1 (argument 0)"
    assert explain(facts, row, memory - 16).text == "16 bytes before the start of memory #1 (argument 0)"
    assert explain(facts, row, gone + 4).text == "inside freed memory #2 (argument 1)"
    assert explain(facts, row, 0x10).text == "null + 0x10 (argument 2)"
    assert "inside memory #3, which the launch was not passed" in explain(facts, row, far).text
    assert not len(facts.launches.find("copy", (3, 1, 1))) and len(facts.launches.find("_Z4copyPfPKfS_")) == 1


def test_far_from_everything_no_argument_is_named(cuda: CudaWorld, tmp_path: Path) -> None:
    """Gigabytes away from two buffers that lie side by side, the nearer of them is not the one that was missed."""
    out, given, kernel = cuda.alloc(4096), cuda.alloc(4096), cuda.kernel("_Z4copyPfPKfi", [8, 8, 4])
    cuda.launch(kernel, [out, given, 1024])
    facts = derive(cuda.write(tmp_path / "1-0.gdx"))
    read = explain(facts, 0, given + (1 << 34))
    assert (read.kind, read.argument, read.object) == ("past", None, -1)
    assert "memory #1 (argument 0) is about as near" in read.text
    written = explain(facts, 0, given + (1 << 34), writes=True)
    assert (written.argument, written.text.partition("past")[2]) == (0, " the end of memory #1 (argument 0)")
    near = explain(facts, 0, given + 4096 + 8)
    assert (near.argument, near.distance) == (1, 8)
