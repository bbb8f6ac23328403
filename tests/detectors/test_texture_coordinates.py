"""Textures and the coordinates that kernels pass: pixel numbers or fractions."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import device_images
from support.cuda_world import CudaWorld
from support.detecting import Look

from gpudx.model import Finding

SAMPLE = "_Z6sampleyPfii"
WIDTH, HEIGHT = 1000, 60
PTX = """
.version 8.0
.target sm_90
.address_size 64
.visible .entry _Z6sampleyPfii(
	.param .u64 _Z6sampleyPfii_param_0,
	.param .u64 _Z6sampleyPfii_param_1,
	.param .u32 _Z6sampleyPfii_param_2,
	.param .u32 _Z6sampleyPfii_param_3
)
{
	ld.param.u64 %rd1, [_Z6sampleyPfii_param_0];
	ld.param.u32 %r3, [_Z6sampleyPfii_param_2];
	ld.param.u32 %r4, [_Z6sampleyPfii_param_3];
	mov.u32 %r5, %ctaid.x;
	mov.u32 %r6, %ntid.x;
	mov.u32 %r7, %tid.x;
	mad.lo.s32 %r1, %r5, %r6, %r7;
	mov.u32 %r8, %ntid.y;
	mov.u32 %r9, %ctaid.y;
	mov.u32 %r10, %tid.y;
	mad.lo.s32 %r2, %r9, %r8, %r10;
	cvt.rn.f32.s32 %f1, %r1;
	add.f32 %f2, %f1, 0f3F000000;
	cvt.rn.f32.s32 %f3, %r2;
	add.f32 %f4, %f3, 0f3F000000;
	cvt.rn.f32.s32 %f5, %r3;
	div.rn.f32 %f6, %f2, %f5;
	cvt.rn.f32.s32 %f7, %r4;
	div.rn.f32 %f8, %f4, %f7;
	mul.f32 %f9, %f1, 0f3E000000;
	READS
	ret;
}
"""
PIXELS, FRACTIONS, SCALED = "{%f2, %f4}", "{%f6, %f8}", "{%f9, %f4}"


def sampled(
    cuda: CudaWorld, folder: Path, *coordinates: str, normalized: bool, sizes: tuple[int, int] = (WIDTH, HEIGHT), described: bool = True
) -> None:
    reads = "\n\t".join(f"tex.2d.v4.f32.f32 {{%f20, %f21, %f22, %f23}}, [%rd1, {one}];" for one in coordinates)
    cuda.header["exe"] = str(device_images.program(folder / "app", PTX.replace("READS", reads).encode())).encode()
    description = bytes(16) + (2 if normalized else 0).to_bytes(4, "little") + bytes(84)
    texture = cuda.create("cuTexObjectCreate", result=0x7100_0001, **({"arrays": {"texture": description}} if described else {}))
    kernel = cuda.kernel(SAMPLE, [8, 8, 4, 4])
    cuda.launch(kernel, [texture, cuda.alloc(4 * WIDTH * HEIGHT), *sizes], grid=(32, 8, 1), block=(32, 8, 1))
    cuda.sync()


def of(found: list[Finding]) -> list[Finding]:
    return [one for one in found if one.id == "texture-coordinates"]


@pytest.mark.parametrize(("coordinates", "normalized"), [(PIXELS, True), (FRACTIONS, False)])
def test_coordinates_of_the_wrong_kind(schema: str, look: Look, tmp_path: Path, coordinates: str, normalized: bool) -> None:
    cuda = CudaWorld(schema)
    sampled(cuda, tmp_path, coordinates, normalized=normalized)
    (one,) = of(look(cuda, "exit", exit_code=1))
    assert one.severity == "error" and one.site is not None and (one.site.kernel, one.site.argument) == ("sample", 0)
    assert f"{'with' if normalized else 'without'} normalized coordinates" in one.message
    assert one.root is not None and one.root.call == "cuTexObjectCreate"
    assert [found.severity for found in of(look(cuda))] == ["warning"]
    cuda.sync(status=700)
    assert [found.severity for found in of(look(cuda, "exit", exit_code=1))] == ["warning"], "this faults nowhere"


@pytest.mark.parametrize(
    ("coordinates", "normalized", "more"),
    [
        ((PIXELS,), False, {}),
        ((FRACTIONS,), True, {}),
        ((PIXELS, FRACTIONS), True, {}),  # one read is as it should be: which of them counts is not known
        ((SCALED,), True, {}),
        ((SCALED,), False, {}),
        ((FRACTIONS,), False, {"sizes": (8, 8)}),  # pixels of a picture eight times as small
        ((PIXELS,), True, {"described": False}),  # a trace from before the description was kept
    ],
)
def test_coordinates_that_fit_or_are_not_known(
    schema: str, look: Look, tmp_path: Path, coordinates: tuple[str, ...], normalized: bool, more: dict[str, object]
) -> None:
    cuda = CudaWorld(schema)
    sampled(cuda, tmp_path, *coordinates, normalized=normalized, **more)  # type: ignore[arg-type]
    assert not of(look(cuda, "exit", exit_code=1))
