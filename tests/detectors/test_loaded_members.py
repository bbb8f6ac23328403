"""Addresses in structures that kernels are passed by value: those that the kernel's code does not load are nobody's fault."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from support import device_images
from support.cuda_world import CudaWorld

from gpudx.detectors import Run, detect_all
from gpudx.facts import Facts, derive
from gpudx.facts.null_words import null_words
from gpudx.model import Finding, Outcome

RUN, SCALE = "_Z3run6Matrix", "_Z5scalePfi"
HOST = 0x5555_5500_0100
PTX = """
.version 8.0
.target sm_90
.address_size 64
.visible .entry _Z3run6Matrix(
	.param .align 8 .b8 _Z3run6Matrix_param_0[24]
)
{
	ld.param.u64 %rd1, [_Z3run6Matrix_param_0+LOADED];
	ld.param.v2.u32 {%r1, %r2}, [_Z3run6Matrix_param_0+16];
	ret;
}
"""


class Matrices:
    """A kernel with a structure of two pointers and two ints, and another one that may have faulted."""

    def __init__(self, schema: str, folder: Path, loaded: int | None) -> None:
        self.cuda, self.folder = CudaWorld(schema), folder
        if loaded is not None:
            text = PTX.replace("LOADED", str(loaded)).encode()
            self.cuda.header["exe"] = str(device_images.program(folder / f"app-{loaded}", text)).encode()
        self.run, self.scale = self.cuda.kernel(RUN, [24]), self.cuda.kernel(SCALE, [8, 4])

    def found(self, first: int, second: int, status: int = 700) -> tuple[Facts, list[Finding]]:
        self.cuda.launch(self.run, [struct.pack("<QQII", first, second, 0, 0)])
        self.cuda.launch(self.scale, [self.cuda.alloc(4096), 1 << 20])
        self.cuda.sync(status=status)
        facts = derive(self.cuda.write(self.folder / "1-0.gdx"))
        facts.symbols.kind = lambda address: "heap" if address == HOST else None  # type: ignore[method-assign]
        return facts, list(detect_all(facts, Run(Outcome("exit", "", 1))))


@pytest.mark.parametrize(("loaded", "loud"), [(None, True), (0, True), (8, False)], ids=["unknown", "used", "not used"])
def test_a_host_pointer_beside_the_devices(schema: str, tmp_path: Path, loaded: int | None, loud: bool) -> None:
    """Structures often hold both: only one that the kernel loads can be what it faulted at."""
    one = Matrices(schema, tmp_path, loaded)
    _, found = one.found(HOST, one.cuda.alloc(4096))
    assert any(finding.id == "host-pointer-on-device" for finding in found) is loud


@pytest.mark.parametrize(("loaded", "loud"), [(None, True), (0, True), (8, False)], ids=["unknown", "used", "not used"])
def test_freed_memory_that_a_structure_still_points_to(schema: str, tmp_path: Path, loaded: int | None, loud: bool) -> None:
    one = Matrices(schema, tmp_path, loaded)
    freed, kept = one.cuda.alloc(4096), one.cuda.alloc(4096)
    one.cuda.free(freed)
    _, found = one.found(freed, kept, status=0)
    assert any(finding.id == "use-after-free" for finding in found) is loud


@pytest.mark.parametrize(("loaded", "bytes_"), [(None, [0, 8, 16]), (0, [0]), (8, [8])])
def test_which_zeros_are_null_pointers(schema: str, tmp_path: Path, loaded: int | None, bytes_: list[int]) -> None:
    facts, _ = Matrices(schema, tmp_path, loaded).found(0, 0)
    assert [word.byte for word in null_words(facts, 0)] == bytes_


def test_the_code_may_be_in_a_library_of_the_program(schema: str, tmp_path: Path) -> None:
    one = Matrices(schema, tmp_path, None)
    facts, _ = one.found(0, 0)
    library = device_images.program(tmp_path / "libmatrix.so", PTX.replace("LOADED", "8").encode())
    seen = []
    for maps in ("", f"7f0000000000-7f0000001000 r-xp 00000000 00:00 1 {library}\n"):
        again = derive(facts.trace)
        again.trace.__dict__["maps"] = maps
        seen.append([word.byte for word in null_words(again, 0)])
    assert seen == [[0, 8, 16], [8]]
