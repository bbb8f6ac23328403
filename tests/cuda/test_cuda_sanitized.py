"""The CUDA hooks under AddressSanitizer, UndefinedBehaviorSanitizer and ThreadSanitizer. The driver is a fake (fake/): no GPU was asked."""

from __future__ import annotations

import pytest
from cuda_kit import Kit
from support import sanitized
from support.device_images import CUBIN, PTX, cubin, entry, fat
from support.simulated import crossed

IMAGE = fat([entry(CUBIN, 90, room=112), entry(PTX, 75, room=80)])
BROKEN = {
    "whole": IMAGE,
    "cut early": IMAGE[:50],
    "cut late": IMAGE[:-60],
    "cut cubin": cubin(90)[:70],
    "zeros": bytes(64),
    "ones": b"\xff" * 300,
}

PROGRAMS = ["tour", "memory", "threads", "fenced", "copies", "lifetimes", "watched"]
PLANS: list[dict[str, str]] = [
    {"FAKE_CUDA_FAIL": "cuLaunchKernel:3:700"},
    {"FAKE_CUDA_REFUSE": "cuMemAlloc_v2:1:2"},
    {"FAKE_CUDA_REFUSE": "cuStreamCreate:1:2"},
    {"FAKE_CUDA_BUSY": "1"},
]
HOW = ["data", "file", "library", "edge", "nowhere"]  # an image is given to the driver


@pytest.fixture(scope="session")
def careful(kit: Kit) -> Kit:
    """Recorder with sanitizers; the driver and the programs are the others'."""
    return sanitized.like(kit)


@pytest.mark.parametrize(("program", "way"), crossed(PROGRAMS, sanitized.WAYS), ids=sanitized.named)
def test_programs_run_as_before(careful: Kit, program: str, way: dict[str, str]) -> None:
    """Launches, copies, graphs, captures, host functions, errors, every family of memory, threads."""
    plain, ran = careful.both([careful.program(program)], way)
    assert ran.seen == plain.seen and ran.returncode == 0
    assert not {gap.kind for trace in ran.traces() for gap in trace.gaps} & {"damaged", "stopped", "cut-file"}


@pytest.mark.parametrize(("plan", "way"), crossed(PLANS, sanitized.WAYS), ids=sanitized.named)
def test_a_driver_that_refuses(careful: Kit, plan: dict[str, str], way: dict[str, str]) -> None:
    plain, ran = careful.both([careful.program("faults")], {**plan, **way})
    assert ran.stdout == plain.stdout or way
    sanitized.check(ran.stderr)


@pytest.mark.parametrize(("how", "image"), crossed(HOW, list(BROKEN)))
def test_images_however_broken(careful: Kit, how: str, image: str) -> None:
    path = careful.folder / f"image-{image.replace(' ', '-')}"
    path.write_bytes(BROKEN[image])
    plain, ran = careful.both([careful.program("images"), how, path])
    assert ran.seen == plain.seen


# ---- threads ----


@pytest.fixture(scope="session", params=["address", "thread"])
def guarded(kit: Kit, careful: Kit, request: pytest.FixtureRequest) -> Kit:
    return careful if request.param == "address" else sanitized.like(kit, request.param)


@pytest.mark.parametrize(("program", "way"), crossed(["threads", "remaps"], sanitized.WAYS), ids=sanitized.named)
def test_threads(guarded: Kit, program: str, way: dict[str, str]) -> None:
    """Also such that map and unmap what others pass, after a device error that the driver answers every call with."""
    plain, ran = guarded.both([guarded.program(program)], way)
    assert ran.seen == plain.seen and ran.returncode == 0, ran.stderr


def test_what_was_unmapped_is_marked(kit: Kit) -> None:
    ran = kit.run([kit.program("remaps")])
    assert ran.seen == (0, "failed: 1\nstill here\n", "")
    trace = ran.trace()
    assert (trace.column("flags") & trace.schema.flags["cut"]).any(), "some of it was not there"
