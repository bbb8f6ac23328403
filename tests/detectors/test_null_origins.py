"""A kernel that used NULL, and the refused call that should have made its memory: one story, told of the call."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.cuda_world import CudaWorld
from support.detecting import Make
from support.synthetic import GLOBAL, Arg, World

from gpudx.detectors import Run, detect_all
from gpudx.diagnose.judge import diagnose
from gpudx.diagnose.null_origins import traced_back
from gpudx.facts import Facts, derive
from gpudx.model import Access, Diagnosis, Evidence, Finding, Outcome

TOO_LARGE, NO_MEMORY = -61, -4
CRASHED = Outcome("signal", "The program crashed with SIGSEGV.", signal="SIGSEGV")


def used_null(facts: Facts, launch: int) -> Finding:
    """What checks inside a kernel report of an argument that is no buffer."""
    return Finding(
        id="kernel-check-bounds", severity="error", message="Kernel inject read 4 bytes through NULL.",
        evidence=(Evidence("work-item (0, 0, 0) reported it"),), site=facts.sites.at(launch, argument=0), causes=("null-pointer",),
        facts=(("launch", str(launch)),), certainty="observed", access=Access(kind="read", kernel="inject"),
    )  # fmt: skip


def verdict(process: World, folder: Path, launches: list[int]) -> tuple[Diagnosis, ...]:
    """Of a run in which these launches used a NULL."""
    facts = derive(process.write(folder / "1-0.gdx"))
    found = [*detect_all(facts, Run(CRASHED)), *(used_null(facts, launch) for launch in launches)]
    return diagnose(traced_back(found, [facts]), CRASHED)


def launched(process: World, handle: int) -> int:
    kernel = process.kernel("inject", [Arg("float*", "u", GLOBAL)])
    process.set_arg(kernel, 0, handle)
    return process.launch(kernel, [16])


@pytest.mark.parametrize("status", [TOO_LARGE, NO_MEMORY])
@pytest.mark.parametrize("before", [0, 1, 3])
@pytest.mark.parametrize("uses", [1, 2])
def test_the_refused_call_leads(world: Make, tmp_path: Path, status: int, before: int, uses: int) -> None:
    """Whatever else the program made, and however many launches used the NULL."""
    process = world()
    for size in range(before):
        process.buffer(64 * (size + 1))
    process.buffer(1 << 44, result=0, status=status)
    places = [launched(process, 0) for _ in range(uses)]
    first, *others = verdict(process, tmp_path, places)
    assert (first.status, first.guilty and first.guilty.call) == ("confirmed", "clCreateBuffer")
    passed = "clCreateBuffer returned NULL, and the program passed that to kernel inject (launch 1) as argument 0"
    assert passed in [one.text for one in first.evidence]
    assert first.fix == ("Check the status that clCreateBuffer stores in errcode_ret, and do not go on with the NULL that it returns.",)
    assert first.root is not None and first.root.call == "clCreateBuffer"
    assert not any(one.cause == "null-pointer" for one in others)


def test_a_program_that_tried_again_is_not_certain(world: Make, tmp_path: Path) -> None:
    process = world()
    process.buffer(1 << 44, result=0, status=NO_MEMORY)
    process.buffer(1 << 20)
    first = verdict(process, tmp_path, [launched(process, 0)])[0]
    assert (first.cause, first.status) == ("ignored-error", "likely") and "do not go on" not in first.fix[0]


@pytest.mark.parametrize("late", [False, True])
def test_without_a_refusal_before_the_launch_the_null_is_the_news(world: Make, tmp_path: Path, late: bool) -> None:
    process = world()
    process.buffer(64)
    at = launched(process, 0)
    if late:
        process.buffer(1 << 44, result=0, status=NO_MEMORY)
    first = verdict(process, tmp_path, [at])[0]
    assert (first.cause, first.status) == ("null-pointer", "confirmed")


def test_a_refused_kernel_leaves_no_null_buffer(world: Make, tmp_path: Path) -> None:
    process = world()
    process.call("clCreateKernel", program=process.program, result=0, status=-46, texts={"kernel_name": "nope"})
    first = verdict(process, tmp_path, [launched(process, 0)])[0]
    assert first.cause == "null-pointer"


# ---- no access was observed: the device only reported a fault ----

ILLEGAL, OUT_OF_MEMORY = 700, 2
FAILED = Outcome("exit", "The program exited with status 1.", exit_code=1)


def reported(process: CudaWorld, folder: Path, refused: bool, again: bool = False) -> tuple[Diagnosis, ...]:
    """Of a run in which a launch that was passed null faulted, after an allocation that was refused or not."""
    if refused:
        process.call("cuMemAlloc_v2", result=0, size=1 << 44, status=OUT_OF_MEMORY)
    if again or not refused:
        process.alloc(4096)
    process.launch(process.kernel("_Z4fillPfi", [8, 4]), [0, 100])
    process.call("cuCtxSynchronize", status=ILLEGAL)
    facts = derive(process.write(folder / "1-0.gdx"))
    return diagnose(traced_back(list(detect_all(facts, Run(FAILED))), [facts]), FAILED)


def test_a_launch_that_was_passed_the_null_of_a_refused_call(schema: str, tmp_path: Path) -> None:
    first, *others = reported(CudaWorld(schema), tmp_path, refused=True)
    assert (first.cause, first.status, first.guilty and first.guilty.call) == ("ignored-error", "likely", "cuMemAlloc_v2")
    assert not any(one.cause == "null-pointer" for one in others)


@pytest.mark.parametrize("refused", [False, True])
def test_a_null_that_may_come_from_elsewhere_is_not_traced_back(schema: str, tmp_path: Path, refused: bool) -> None:
    first = reported(CudaWorld(schema), tmp_path, refused, again=True)[0]
    assert (first.cause, first.status) == ("null-pointer", "likely")
