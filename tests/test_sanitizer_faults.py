"""Joining a report of compute-sanitizer to the recorded launches, with reports and traces written by hand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from support.cuda_world import CudaWorld
from support.sanitizer import BANNER, api_error, barrier, invalid, marked, race, report, uninitialised
from support.typed import label, size

from gpudx.causes import every as every_cause
from gpudx.detectors import Run, detect_all
from gpudx.diagnose import diagnose, sanitizer_faults, sanitizer_runs
from gpudx.diagnose.sanitizer_faults import join
from gpudx.evidence.compute_sanitizer import parse
from gpudx.facts import Facts, derive
from gpudx.lab.sanitized import Sanitized
from gpudx.model import Diagnosis, Finding, Outcome
from gpudx.model.how import Sanitizer

SCALE = "_Z5scalePfi"
FAILED = Outcome("exit", "The program exited with status 1.", 1)
PASSED = Outcome("passed", "The program ended normally.", 0)


@pytest.fixture
def cuda(schema: str) -> CudaWorld:
    return CudaWorld(schema)


def facts_of(world: CudaWorld, folder: Path, name: str = "1-0.gdx") -> Facts:
    return derive(world.write(folder / name))


def joined(text: str, *processes: Facts) -> list[Finding]:
    return list(join(parse(text), processes, "sanitizer/7.txt"))


def judged(found: Sequence[Finding], facts: Facts, outcome: Outcome = FAILED) -> tuple[Diagnosis, ...]:
    return diagnose([*detect_all(facts, Run(outcome)), *found], outcome)


# ---- which memory ----


def test_the_arguments_buffer_counts_not_the_nearest_allocation(cuda: CudaWorld, tmp_path: Path) -> None:
    big, small = cuda.alloc(1 << 20, at=0x7F10_0000_0000), cuda.alloc(16384, at=0x7F10_0020_0000)
    cuda.launch(cuda.kernel(SCALE, [8, 4]), [big, 5])
    cuda.sync(status=719)
    address = small + 16384 + 4096
    nearest = f"4,097 bytes after the nearest allocation at {small:#x} of size 16,384 bytes"
    (found,) = joined(report(invalid(SCALE, address, nearest=nearest)), facts := facts_of(cuda, tmp_path))
    assert found.id == "sanitizer-invalid-write" and found.causes == ("out-of-bounds-access",)
    assert found.site and (found.site.launch, found.site.argument, found.site.source) == (1, 0, "scale.cu:12")
    assert size(found) == 1 << 20 and found.allocation is not None and found.allocation.state == "live"
    away = address - big - (1 << 20)
    assert f"{away:,} bytes past the end of {label(found)} (argument 0)" in found.message
    assert found.message.startswith("Launch 1 of kernel scale (call ") and "16,384" not in found.message
    said = [e.text for e in found.evidence]
    assert said[0] == "launch 1 is the only recorded launch of scale"
    assert "the nearest allocation that the tool names is not the one that the launch was passed" in said
    assert any("main [0x5678]" in text for text in said)
    (first, *_) = judged([found], facts)
    assert (first.cause, first.status) == ("out-of-bounds-access", "confirmed")
    assert first.reason == "compute-sanitizer saw the access itself, and no other launch could have made it."
    assert first.guilty and first.guilty.allocation and first.guilty.allocation.size == 1 << 20
    assert first.victim and first.victim.site and first.victim.site.call == "cuStreamSynchronize"


def test_an_access_that_begins_inside_and_ends_outside(cuda: CudaWorld, tmp_path: Path) -> None:
    memory = cuda.alloc(1022)
    cuda.launch(cuda.kernel(SCALE, [8, 4]), [memory, 5])
    (found,) = joined(report(invalid(SCALE, memory + 1020)), facts_of(cuda, tmp_path))
    assert "1 byte past the end of" in found.message and f"{memory + 1020:#x}" in found.message
    assert found.attribution == "this"


@pytest.mark.parametrize("waits", [False, True])
def test_memory_that_another_stream_freed_under_the_kernel(cuda: CudaWorld, tmp_path: Path, waits: bool) -> None:
    first, second = cuda.create("cuStreamCreate", flags=1), cuda.create("cuStreamCreate", flags=1)
    memory = cuda.create("cuMemAllocAsync", result=0x7E0000000000, size=512, queue=first)
    handed, done = cuda.create("cuEventCreate", flags=2), cuda.create("cuEventCreate", flags=2)
    cuda.call("cuEventRecord", event=handed, queue=first)
    cuda.call("cuStreamWaitEvent", event=handed, queue=second)
    cuda.launch(cuda.kernel(SCALE, [8, 4]), [memory, 128], queue=second)
    if waits:
        cuda.call("cuEventRecord", event=done, queue=second)
        cuda.call("cuStreamWaitEvent", event=done, queue=first)
    free = cuda.call("cuMemFreeAsync", mem=memory, queue=first)
    (inside,) = joined(report(invalid(SCALE, memory + 64)), facts := facts_of(cuda, tmp_path))
    (past,) = joined(report(invalid(SCALE, memory + 512)), facts)
    assert past.causes == ("out-of-bounds-access",) and past.root is None
    if waits:
        assert inside.causes != ("freed-while-in-use",) and inside.root is None
        return
    assert inside.causes == ("freed-while-in-use",) and inside.attribution == "this"
    assert inside.root is not None and inside.root.number == free + 1 and "record an event in" in inside.message
    (best, *_) = judged([inside], facts)
    assert (best.cause, best.status) == ("freed-while-in-use", "confirmed")


def test_freed_memory(cuda: CudaWorld, tmp_path: Path) -> None:
    memory = cuda.alloc(4096)
    cuda.free(memory)
    cuda.launch(cuda.kernel(SCALE, [8, 4]), [memory, 5])
    (found,) = joined(report(invalid(SCALE, memory + 64, verb="read")), facts_of(cuda, tmp_path))
    assert found.causes == ("use-after-free",) and found.allocation is not None and found.allocation.state == "freed"
    assert found.site and found.site.argument == 0 and "inside freed" in found.message


def test_misaligned_and_null(cuda: CudaWorld, tmp_path: Path) -> None:
    memory, kernel = cuda.alloc(4096), cuda.kernel("_Z4pickPfS_", [8, 8])
    cuda.launch(kernel, [memory, 0])
    facts = facts_of(cuda, tmp_path)
    text = report(invalid("_Z4pickPfS_", memory + 2, why="misaligned"), invalid("_Z4pickPfS_", 0x40, verb="read"))
    odd, null = joined(text, facts)
    assert odd.id == "sanitizer-misaligned-access" and odd.causes == ("misaligned-access",)
    assert odd.site and odd.site.argument == 0 and "inside" in odd.message
    assert null.causes == ("out-of-bounds-access",) and "null + 0x40 (argument 1)" in null.message


def test_shared_memory_has_no_argument(cuda: CudaWorld, tmp_path: Path) -> None:
    cuda.launch(cuda.kernel(SCALE, [8, 4]), [0, 5])
    (found,) = joined(report(invalid(SCALE, 0x40, space="shared")), facts_of(cuda, tmp_path))
    assert found.site and found.site.argument is None and found.allocation is None
    assert "null" not in found.message and "shared memory" in found.message and "launch 1" in found.message


def test_memory_that_the_recording_has_inside_is_only_likely(cuda: CudaWorld, tmp_path: Path) -> None:
    memory = cuda.alloc(4096)
    cuda.launch(cuda.kernel(SCALE, [8, 4]), [memory, 5])
    (found,) = joined(report(invalid(SCALE, memory + 8)), facts := facts_of(cuda, tmp_path))
    (first,) = judged([found], facts)
    assert first.status == "likely" and "inside live memory that the launch was passed" in first.reason


# ---- which launch ----


def test_a_launch_that_was_waited_for_is_not_the_one(cuda: CudaWorld, tmp_path: Path) -> None:
    good, bad, kernel = cuda.alloc(4096), cuda.alloc(64), cuda.kernel(SCALE, [8, 4])
    cuda.launch(kernel, [good, 5])
    cuda.sync()
    cuda.launch(kernel, [bad, 5])
    cuda.sync(status=719)
    (found,) = joined(report(invalid(SCALE, bad + 64)), facts_of(cuda, tmp_path))
    assert found.site and found.site.launch == 2 and found.attribution == "this"
    assert found.evidence[0].text.endswith("the only recorded launch of scale that was not followed by a successful wait")
    assert "right at the end of" in found.message


def test_several_launches_are_not_told_apart(cuda: CudaWorld, tmp_path: Path) -> None:
    first, second, kernel = cuda.alloc(4096), cuda.alloc(64), cuda.kernel(SCALE, [8, 4])
    cuda.launch(kernel, [first, 5])
    cuda.launch(kernel, [second, 5])
    report_call = cuda.sync(status=719)
    cuda.launch(kernel, [second, 6], status=719)  # refused: it never ran
    (found,) = joined(report(invalid(SCALE, second + 100)), facts := facts_of(cuda, tmp_path))
    assert found.evidence[0].text == "launch 2 is the last of 2 recorded launches of scale"
    assert found.message.startswith("A launch of kernel scale, perhaps launch 2 (call ")
    (told, *_) = judged([found], facts)
    assert told.status == "likely" and "which of 2 launches of scale made it is not known" in told.reason
    assert told.victim and told.victim.site and told.victim.site.number == report_call + 1


def test_of_several_launches_the_one_with_the_nearest_memory_is_named(cuda: CudaWorld, tmp_path: Path) -> None:
    overrun, other, kernel = cuda.alloc(64), cuda.alloc(64), cuda.kernel(SCALE, [8, 4])
    cuda.launch(kernel, [overrun, 5])
    cuda.launch(kernel, [other, 5])
    cuda.sync(status=719)
    (found,) = joined(report(invalid(SCALE, overrun + 100)), facts := facts_of(cuda, tmp_path))
    assert found.evidence[0].text == "launch 1 is the one with the nearest memory of 2 recorded launches of scale"
    assert "36 bytes past the end of memory #1 (argument 0)" in found.message
    assert judged([found], facts)[0].reason.endswith("is not known; a run with --serialise may show it.")


def test_a_write_did_not_go_through_a_pointer_to_const(cuda: CudaWorld, tmp_path: Path) -> None:
    out, source = cuda.alloc(64, at=0x7F20_0000_0000), cuda.alloc(64, at=0x7F20_0000_1000)
    cuda.launch(cuda.kernel("_Z4copyPfPKf", [8, 8]), [out, source])
    facts = facts_of(cuda, tmp_path)
    (wrote,) = joined(report(invalid("_Z4copyPfPKf", source + 80)), facts)
    (read,) = joined(report(invalid("_Z4copyPfPKf", source + 80, verb="read")), facts)
    assert wrote.site and read.site and (wrote.site.argument, read.site.argument) == (0, 1)


def test_a_kernel_whose_launches_all_ended_well(cuda: CudaWorld, tmp_path: Path) -> None:
    cuda.launch(cuda.kernel(SCALE, [8, 4]), [memory := cuda.alloc(64), 5])
    cuda.sync()
    (found,) = joined(report(invalid(SCALE, memory + 64)), facts_of(cuda, tmp_path))
    assert "a successful wait followed" in found.because


def test_launches_with_the_same_arguments_need_not_be_told_apart(cuda: CudaWorld, tmp_path: Path) -> None:
    memory, kernel = cuda.alloc(64), cuda.kernel(SCALE, [8, 4])
    for _ in range(3):
        cuda.launch(kernel, [memory, 5])
    (found,) = joined(report(invalid(SCALE, memory + 64)), facts_of(cuda, tmp_path))
    assert found.attribution == "this"
    assert found.evidence[0].text.endswith("the last of 3 recorded launches of scale, all with the same arguments")


def test_a_launch_without_the_faulting_block_is_not_the_one(cuda: CudaWorld, tmp_path: Path) -> None:
    memory, kernel = cuda.alloc(64), cuda.kernel(SCALE, [8, 4])
    cuda.launch(kernel, [memory, 5], grid=(9, 1, 1))
    cuda.launch(kernel, [memory, 6], grid=(8, 1, 1))
    cuda.launch(kernel, [memory, 7], grid=(9, 1, 1), block=(4, 1, 1))
    (found,) = joined(report(invalid(SCALE, memory + 64, block=8, thread=4)), facts_of(cuda, tmp_path))
    assert found.site and found.site.launch == 1 and found.attribution == "this"


def test_a_function_that_the_kernel_calls(cuda: CudaWorld, tmp_path: Path) -> None:
    memory = cuda.alloc(64)
    cuda.launch(cuda.kernel(SCALE, [8, 4]), [memory, 5])
    text = invalid("_Z6helperPf", memory + 64, frames=(f"{SCALE}+0x30 in scale.cu:9",))
    (found,) = joined(report(text), facts_of(cuda, tmp_path))
    assert found.site and found.site.kernel == "scale"
    assert any(e.text == "called from scale(float*, int)+0x30 in scale.cu:9" for e in found.evidence)


def test_a_function_that_calls_itself_is_one_line(cuda: CudaWorld, tmp_path: Path) -> None:
    cuda.launch(cuda.kernel(SCALE, [8, 4]), [cuda.alloc(64), 5])
    own = f"${SCALE}$_Z5visitPii"
    text = invalid(own, 0x40, frames=(*[f"{own}+0x720"] * 5, f"{SCALE}+0x30 in scale.cu:9"))
    (found,) = joined(report(text), facts_of(cuda, tmp_path))
    said = [e.text for e in found.evidence if e.text.startswith("called from")]
    assert said == ["called from visit(int*, int)+0x720, 5 times", "called from scale(float*, int)+0x30 in scale.cu:9"]


def test_names_as_people_read_them_are_found_too(cuda: CudaWorld, tmp_path: Path) -> None:
    memory = cuda.alloc(64)
    cuda.launch(cuda.kernel(SCALE, [8, 4]), [memory, 5])
    (found,) = joined(report(invalid("scale(float *, int)", memory + 64)), facts_of(cuda, tmp_path))
    assert found.site and found.site.launch == 1


def test_a_kernel_that_was_not_recorded(cuda: CudaWorld, tmp_path: Path) -> None:
    cuda.launch(cuda.kernel(SCALE, [8, 4]), [cuda.alloc(64), 5])
    (found,) = joined(report(invalid("_Z5otherPf", 0x7F00_0000_1234)), facts := facts_of(cuda, tmp_path))
    assert found.site is None and found.causes == ("out-of-bounds-access",) and "other" in found.message
    (told,) = judged([found], facts)
    assert told.status == "likely" and told.guilty is None and "no recorded launch" in told.reason


def test_a_kernel_that_graphs_launch_too(cuda: CudaWorld, tmp_path: Path) -> None:
    memory, kernel = cuda.alloc(64), cuda.kernel(SCALE, [8, 4])
    cuda.launch(kernel, [memory, 5])
    cuda.call("cuGraphLaunch", graph_exec=cuda.graph(kernel, [memory, 9]), queue=cuda.queue)
    (found,) = joined(report(invalid(SCALE, memory + 64)), facts_of(cuda, tmp_path))
    assert "graphs launch it too" in found.because


def test_the_process_that_failed_is_the_one(schema: str, tmp_path: Path) -> None:
    worlds = [CudaWorld(schema), CudaWorld(schema)]
    for number, world in enumerate(worlds):
        memory = world.alloc(64)
        world.header["pid"] = 10 + number
        world.launch(world.kernel(SCALE, [8, 4]), [memory, 5])
        world.sync(status=719 if number == 0 else 0)
    both = [facts_of(world, tmp_path, f"{n}.gdx") for n, world in enumerate(worlds)]
    (found,) = joined(report(invalid(SCALE, memory + 64)), *both)
    assert found.site and found.site.pid == both[0].trace.pid and found.attribution == "this"
    (found,) = joined(report(invalid(SCALE, memory + 64)), both[0], both[0])
    assert "2 processes launched it" in found.because


# ---- other checks ----


def test_memory_that_nothing_wrote(cuda: CudaWorld, tmp_path: Path) -> None:
    first, second, kernel = cuda.alloc(4096), cuda.alloc(4096), cuda.kernel(SCALE, [8, 4])
    cuda.launch(kernel, [first, 5])
    cuda.launch(kernel, [second, 5])
    cuda.sync()
    (found,) = joined(report(uninitialised(SCALE, first + 128)), facts := facts_of(cuda, tmp_path))
    assert found.id == "sanitizer-uninitialised-read" and found.causes == ("read-before-write",)
    assert found.site and found.site.launch == 1 and found.evidence[0].text.endswith("that was passed this memory")
    assert "which nothing had written" in found.message and size(found) == 4096
    (told,) = judged([found], facts, PASSED)
    assert told.status == "confirmed" and told.victim is None


def test_races_and_barriers(cuda: CudaWorld, tmp_path: Path) -> None:
    cuda.launch(cuda.kernel(SCALE, [8, 4]), [cuda.alloc(64), 5])
    facts = facts_of(cuda, tmp_path)
    (raced,) = joined(race(SCALE), facts)
    assert raced.id == "sanitizer-race" and raced.causes == ("race-in-kernel",)
    assert raced.site and raced.site.launch == 1
    assert "race on shared memory: one accesses it at scale.cu:30, another at scale.cu:31" in raced.message
    (told,) = judged([raced], facts)
    assert told.status == "confirmed" and told.reason.startswith("compute-sanitizer saw the race itself")
    assert told.reason.endswith("No run was made without it: the program may fail for another reason as well.")
    (waited,) = joined(report(barrier(SCALE)), facts)
    assert waited.causes == ("barrier-misuse",) and waited.site and waited.site.source == "scale.cu:40"


def test_a_race_within_a_warp_is_likely_where_the_program_failed_and_nothing_where_it_passed(cuda: CudaWorld, tmp_path: Path) -> None:
    kernel = cuda.kernel("_Z8warp_sumPKfPf", [8, 8])
    cuda.launch(kernel, [cuda.alloc(4096), cuda.alloc(64)])
    cuda.sync()
    facts = facts_of(cuda, tmp_path)
    found = joined(
        """========= COMPUTE-SANITIZER
========= Warning: Race reported between Write access at _Z8warp_sumPKfPf+0x1d0 in tail.cu:22
=========     and Read access at _Z8warp_sumPKfPf+0x170 in tail.cu:18 [32768 hazards]
=========
========= RACECHECK SUMMARY: 1 hazard displayed (0 errors, 1 warning)
""",
        facts,
    )
    first = judged(found, facts)[0]
    assert (first.cause, first.status) == ("race-in-kernel", "likely") and first.guilty is not None
    assert (first.guilty.kernel, first.guilty.launch) == ("warp_sum", 1) and "one warp" in first.reason
    assert not [one for one in judged(found, facts, PASSED) if one.cause == "race-in-kernel"]


def test_every_cause_exists() -> None:
    assert set(sanitizer_faults.BY_KIND.values()) <= set(every_cause())


# ---- silent ----


def test_false_alarms_and_followers_accuse_nobody(cuda: CudaWorld, tmp_path: Path) -> None:
    memory = cuda.alloc(4096)
    cuda.launch(cuda.kernel(SCALE, [8, 4]), [memory, 5])
    inside = f"inside the nearest allocation at {memory:#x} of size 4,096 bytes"
    text = report(
        invalid(SCALE, memory + 8, nearest=inside),
        api_error("cudaPointerGetAttributes", 1, "cudaErrorInvalidValue"),
        api_error("cudaDeviceSynchronize", 719, "cudaErrorLaunchFailure"),
        api_error("cudaFree", 719, "cudaErrorLaunchFailure"),
    )
    alarm, probe, first, follower = joined(text, facts := facts_of(cuda, tmp_path))
    assert alarm.severity == probe.severity == "warning" and "wholly inside" in str(alarm.evidence)
    assert follower.severity == "info" and follower.causes == () and first.causes == ()
    assert judged([alarm, probe], facts, PASSED) == ()
    assert judged([alarm], facts)[0].status == "inconclusive"


def test_a_clean_report_finds_nothing(cuda: CudaWorld, tmp_path: Path) -> None:
    cuda.launch(cuda.kernel(SCALE, [8, 4]), [cuda.alloc(64), 5])
    assert joined(report(), facts_of(cuda, tmp_path)) == []


# ---- the tool itself ----


def ran(text: str, kernel: str | None = None, status: int = 0) -> tuple[Sanitized, sanitizer_runs.Reports]:
    return Sanitized(Sanitizer("memcheck", "/bin/compute-sanitizer", "9.9", kernel), status), [(parse(text), "s/1.txt")]


@pytest.mark.parametrize(
    ("text", "state", "says"),
    [
        (report(), "live", "Its summary counts 0 errors in 2 processes."),
        (report(invalid(SCALE, 4)), "live", "Its summary counts 1 error in 2 processes."),
        ("", "not live", "It printed no summary, so nothing was checked (it crashed with SIGSEGV)."),
        (BANNER + invalid(SCALE, 4), "not live", "It stopped before its summary, after 1 record (it crashed with SIGSEGV)."),
        (
            BANNER
            + marked("Internal Sanitizer Error: not tracked. Errors might go undetected.", "ERROR SUMMARY: 0 errors"),
            "not live",
            "could not check everything (it crashed with SIGSEGV); it reports: Internal Sanitizer Error: not tracked.",
        ),
    ],
)
def test_what_the_instrument_says(text: str, state: str, says: str) -> None:
    tool = sanitizer_runs.instrument(*ran(text, status=-11), 2)
    assert (tool.name, tool.state, tool.version) == ("compute-sanitizer memcheck", state, "9.9")
    assert says in tool.saw and tool.failed == (state != "live")


LOST = BANNER + marked("Error: the tool failed to handle a hardware exception", "ERROR SUMMARY: 0 errors")


@pytest.mark.parametrize(
    ("text", "told"), [(report(), True), (LOST, True), (report(invalid(SCALE, 4)), False), ("", False)]
)
def test_a_narrowed_run_that_finds_nothing_says_so(text: str, told: bool) -> None:
    run, reports = ran(text, "scale")
    found = {f.id: f for f in sanitizer_runs.findings(run, reports, (), ["./app", "a b"])}
    assert ("sanitizer-narrowed" in found) == told
    if told:
        assert found["sanitizer-narrowed"].message == (
            "Only launches of scale were checked; a launch outside that filter may be the one:"
            " gpudx run --sanitize=memcheck -- ./app 'a b'"
        )
    assert "Only launches of scale were checked." in sanitizer_runs.instrument(run, reports, 1).saw
    assert "sanitizer-narrowed" not in {f.id for f in sanitizer_runs.findings(*ran(text), (), ["./app"])}
