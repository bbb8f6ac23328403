"""Device code that could not be loaded: the architectures of the image and the device's own are named, or said not to be known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.cuda_world import CudaWorld
from support.detecting import Look
from support.device_images import CUBIN, PTX, entry, fat, headers, ptx
from support.typed import fact

from gpudx.backends.cuda.images import Code
from gpudx.detectors import unusable_image
from gpudx.facts import derive
from gpudx.model import Finding

HOPPER = {"capability_major": 9, "capability_minor": 0}


@pytest.fixture
def cuda(schema: str) -> CudaWorld:
    return CudaWorld(schema, device=HOPPER)


def load(world: CudaWorld, image: bytes, call: str = "cuLibraryLoadData", **more: Any) -> int:
    """A load as the recorder writes it: the note stands inside the call."""
    made, kept = world.handle(), headers(image) if image.startswith(b"\x50\xed\x55\xba") else []
    pointer = world.handle()
    world.call(call, result=made, image=pointer, ticks=100, **more)
    inside = world._now - 90
    parts = [(world._parts["text"], image[: 16 if kept else 2048])]
    parts += [(world._parts["numbers"], b"".join(word.to_bytes(8, "little") for word in kept))] if kept else []
    world.call("note_image", image=pointer, entries=len(kept) // 8, whole=1, begin=inside, ticks=1, parts=parts)
    return made


def only(found: list[Finding]) -> Finding:
    (one,) = [f for f in found if f.id == "unusable-image"]
    return one


def test_the_first_kernel_of_a_library(cuda: CudaWorld, look: Look) -> None:
    library = load(cuda, fat([entry(CUBIN, 75), entry(CUBIN, 120, room=112)]))
    cuda.call("cuLibraryGetKernel", program=library, texts={"name": "scale"}, status=209)
    one = only(look(cuda, "exit"))
    assert "the image has code for sm_75 and sm_120; the device is sm_90 (a device)" in one.message
    assert fact(one, "holds") == "sm_75 sm_120" and fact(one, "device") == "sm_90"


def test_the_launch_that_a_kernel_was_looked_up_for_is_counted(cuda: CudaWorld, tmp_path: Path) -> None:
    ready = cuda.kernel("_Z5readyv", [])
    cuda.launch(ready, [])
    library = load(cuda, fat([entry(CUBIN, 120)]))
    cuda.call("cuLibraryGetKernel", program=library, texts={"name": "scale"}, status=209)
    facts = derive(cuda.write(tmp_path / "1-0.gdx"))
    (refused,) = facts.errors.of_images.tolist()
    stub = "__device_stub__Z5scalePfi at scale.stub.c:13 (app)"
    assert unusable_image._launch(facts, refused, ["__cudaGetKernel+0x8b (app)", stub, "main at app.cu:9 (app)"]) == 2
    assert unusable_image._launch(facts, refused, ["cudaFuncGetAttributes+0x8b (app)", "main at app.cu:9 (app)"]) is None


def test_the_module_of_a_library(cuda: CudaWorld, look: Look) -> None:
    library, module = load(cuda, fat([entry(CUBIN, 120)])), cuda.handle()
    cuda.call("cuLibraryGetModule", result=module, program=library)
    cuda.call("cuModuleGetFunction", program=module, texts={"name": "scale"}, status=500)
    assert "code for sm_120; the device is sm_90" in only(look(cuda, "exit")).message


def test_a_launch_that_is_refused_a_thousand_times_is_told_once(cuda: CudaWorld, look: Look) -> None:
    library = load(cuda, fat([entry(CUBIN, 120)]))
    kernel = cuda.create("cuLibraryGetKernel", program=library, texts={"name": "scale"})
    cuda._layouts[kernel] = []
    for _ in range(1000):
        cuda.launch(kernel, [], status=209)
    one = only(look(cuda))
    assert one.count == 1000 and one.severity == "warning" and "for kernel scale failed" in one.message


def test_what_was_not_recorded_is_said_so(cuda: CudaWorld, look: Look) -> None:
    cuda.create("cuLibraryLoadData", result=0x1234_0000)
    cuda.call("cuLibraryGetKernel", program=0x1234_0000, texts={"name": "scale"}, status=209)
    said = "what the image holds was not recorded; the device is sm_90 (a device)"
    assert said in only(look(cuda, "exit")).message


@pytest.mark.parametrize("status", [200, 218, 300, 500])
def test_other_errors_without_an_image_are_silent(cuda: CudaWorld, look: Look, status: int) -> None:
    cuda.call("cuModuleLoadData", status=status)
    assert not [f for f in look(cuda, "exit") if f.id == "unusable-image"]


@pytest.mark.parametrize("status", [200, 209, 218, 300])
def test_an_image_that_fits_has_failed_for_another_reason(cuda: CudaWorld, look: Look, status: int) -> None:
    load(cuda, fat([entry(CUBIN, 90), entry(PTX, 75)]), "cuModuleLoadData", status=status)
    assert not [f for f in look(cuda, "exit") if f.id == "unusable-image"]


def test_text_for_a_newer_device(cuda: CudaWorld, look: Look) -> None:
    load(cuda, ptx("sm_120"), "cuModuleLoadData", status=218)
    assert "the image has only PTX for compute_120; the device is sm_90" in only(look(cuda, "exit")).message


def test_text_of_a_newer_language(cuda: CudaWorld, look: Look) -> None:
    load(cuda, ptx("sm_90", "9.0"), "cuModuleLoadData", status=222)
    one = only(look(cuda, "exit"))
    assert (
        one.causes == ("device-code-too-new",) and "the image has PTX 9.0; the driver knows that of 1.0" in one.message
    )


@pytest.mark.parametrize(("compiled", "loud"), [(75, True), (90, False)])
def test_a_driver_that_may_not_compile(cuda: CudaWorld, look: Look, compiled: int, loud: bool) -> None:
    load(cuda, fat([entry(CUBIN, compiled), entry(PTX, 80)]), "cuModuleLoadData", status=223)
    found = [f for f in look(cuda, "exit") if f.id == "unusable-image"]
    assert [f.causes for f in found] == ([("wrong-architecture",)] if loud else [])


def test_what_is_no_device_code_is_told_only_of_a_run_that_failed(cuda: CudaWorld, look: Look) -> None:
    load(cuda, b"<html>404", "cuModuleLoadData", status=200)
    assert not look(cuda)
    assert only(look(cuda, "exit")).causes == ("not-device-code",)


@pytest.mark.parametrize(
    ("code", "runs"),
    [
        (Code(False, 90), {"90", "91"}),
        (Code(False, 90, "a"), {"90"}),
        (Code(False, 100, "f"), {"100", "103"}),
        (Code(True, 90), {"90", "91", "100", "103", "120"}),
        (Code(True, 90, "a"), {"90"}),
        (Code(True, 100, "f"), {"100", "103"}),
        (Code(False, 80), {"80", "86", "89"}),
    ],
    ids=lambda value: value.target if isinstance(value, Code) else "",
)
def test_what_runs_where(code: Code, runs: set[str]) -> None:
    devices = {f"{a}{b}": {"capability_major": a, "capability_minor": b} for a, b in DEVICES}
    assert {name for name, numbers in devices.items() if code.runs_on(numbers)} == runs


DEVICES = ((7, 5), (8, 0), (8, 6), (8, 9), (9, 0), (9, 1), (10, 0), (10, 3), (12, 0))
