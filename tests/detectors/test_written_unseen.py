"""Memory that is written by work whose writes no call names counts as written: what is not recorded is unknown, not absent."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support import forked
from support import opencl as programs
from support.detecting import Look, Make
from support.opencl import PROGRAMS, OpenCL
from support.synthetic import GLOBAL, Arg

from gpudx.backends.opencl.rules import starts_work

UNWRITTEN, CHECKED = "read-before-write", "kernel-check-uninitialized"
WAYS = [("pocl", "native"), ("pocl", "native part"), ("pocl", "commands"), ("intel", "image"), ("intel", "native")]
FAULTS = [("pocl", "native other"), ("pocl", "harmless function"), ("intel", "image other")]


def on(driver: str, tmp_path: Path, shared: Path) -> OpenCL:
    return programs.make(tmp_path, shared, driver if driver == "intel" else "")


def checked(opencl: OpenCL, case: Path, mode: str) -> tuple[set[str], list[str]]:
    """Findings and what was not looked at, of a run with checks inside the kernels."""
    pytest.importorskip("clang.cindex")
    program = opencl.build([PROGRAMS / "written_unseen.c"])
    done = forked.gpudx("run", "--sanitize=opencl", "--case", case, "--", program, mode, env=opencl.plain_environment, timeout=600)
    if "missing" in done.stdout:
        pytest.skip("the driver has no command buffers")
    assert done.returncode == 0, done.stderr
    told = json.loads((case / "case.json").read_text())
    return {str(one["id"]) for one in told["findings"]}, told["not_checked"]


@pytest.mark.builds
@pytest.mark.parametrize(("driver", "mode"), WAYS)
def test_such_memory_counts_as_written(driver: str, mode: str, tmp_path: Path, shared: Path) -> None:
    found, unseen = checked(on(driver, tmp_path, shared), tmp_path / "case", mode)
    assert not found & {UNWRITTEN, CHECKED}
    said = [text for text in unseen if "are not recorded: all memory counts as written" in text]
    assert len(said) == (mode == "commands") and all("clEnqueueCommandBufferKHR" in text for text in said)


@pytest.mark.builds
@pytest.mark.parametrize(("driver", "mode"), FAULTS)
def test_other_memory_does_not(driver: str, mode: str, tmp_path: Path, shared: Path) -> None:
    assert {UNWRITTEN, CHECKED} <= checked(on(driver, tmp_path, shared), tmp_path / "case", mode)[0]


@pytest.mark.parametrize(
    ("name", "starts"),
    [
        ("clEnqueueCommandBufferKHR", True),
        ("clDeviceMemAllocINTEL", True),
        ("clUnheardOfVENDOR", True),
        ("clGetKernelSuggestedLocalWorkGroupSizeKHR", False),
        ("clCreateCommandQueueWithPropertiesKHR", False),
    ],
)
def test_functions_of_extensions(name: str, starts: bool) -> None:
    assert starts_work(name) == starts


@pytest.mark.parametrize(("through", "told"), [("part", False), ("image", False), ("image of an image", False), ("other", True)])
def test_parts_of_a_buffer_are_the_buffer(world: Make, look: Look, through: str, told: bool) -> None:
    """A host function is given a part, or a copy is made into an image over an image over the buffer."""
    process = world()
    buffer, other = process.buffer(4096), process.buffer(4096)
    target = other if through == "other" else buffer
    if through == "part":
        target = process.create("clCreateSubBuffer", buffer=buffer, arrays={"create_info": bytes(8) + (4096).to_bytes(8, "little")})
    for _ in range(through.count("image")):
        desc = bytes(64) + target.to_bytes(8, "little")
        target = process.create("clCreateImage", context=process.context, arrays={"desc": desc})
    if "image" in through:
        process.call("clEnqueueFillImage", queue=process.queue, image=target)
    else:
        process.call("clEnqueueNativeKernel", queue=process.queue, num_mems=1, arrays={"mems": target.to_bytes(8, "little")})
    kernel = process.kernel("sum", [Arg("float*", "in", GLOBAL, qualifiers=1)])
    process.set_arg(kernel, 0, buffer)
    process.launch(kernel, (64,))
    assert bool([one for one in look(process) if one.id == UNWRITTEN]) == told
