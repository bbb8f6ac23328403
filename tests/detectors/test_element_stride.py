"""Elements that the host packs in another way than the kernel steps through them."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import device_images
from support.cuda_world import CudaWorld
from support.detecting import Look

from gpudx.diagnose import diagnose
from gpudx.model import Finding, Outcome

STEP, N, KERNELS = "_Z4stepP8Particlefi", 1000, 24
PTX = """
.version 8.0
.target sm_90
.address_size 64
.visible .entry _Z4stepP8Particlefi(
	.param .u64 _Z4stepP8Particlefi_param_0,
	.param .f32 _Z4stepP8Particlefi_param_1,
	.param .u32 _Z4stepP8Particlefi_param_2
)
{
	ld.param.u64 %rd1, [_Z4stepP8Particlefi_param_0];
	mov.u32 %r5, %ctaid.x;
	mov.u32 %r6, %ntid.x;
	mov.u32 %r7, %tid.x;
	mad.lo.s32 %r1, %r5, %r6, %r7;
	cvta.to.global.u64 %rd2, %rd1;
	mul.wide.s32 %rd3, %r1, 24;
	add.s64 %rd4, %rd2, %rd3;
	ld.global.v2.f32 {%f1, %f2}, [%rd4];
	ld.global.f64 %fd1, [%rd4+16];
	MORE
	ret;
}
"""


def stepped(
    schema: str, folder: Path, size: int, *, more: str = "", n: int = N, copied: int = 0, at: int = 0, packed: bool = False
) -> CudaWorld:
    cuda = CudaWorld(schema)
    cuda.header["exe"] = str(device_images.program(folder / "app", PTX.replace("MORE", more).encode())).encode()
    particles = cuda.alloc(size)
    cuda.call("cuMemcpyHtoD_v2", dst=particles, src=0x5000, size=copied or size)
    if packed:
        cuda.launch(cuda.kernel("_Z4packPfi", [8, 4]), [particles, N])
    cuda.launch(cuda.kernel(STEP, [8, 4, 4]), [particles + at, 0, n], grid=(8, 1, 1), block=(128, 1, 1))
    cuda.sync()
    return cuda


def of(found: list[Finding]) -> list[Finding]:
    return [one for one in found if one.id == "element-stride"]


@pytest.mark.parametrize("host", [20, 28, 32])
def test_another_size_of_an_element(schema: str, look: Look, tmp_path: Path, host: int) -> None:
    found = of(look(stepped(schema, tmp_path, host * N), "exit", exit_code=1))
    (one,) = found
    assert f"by {KERNELS} bytes for each thread" in one.message and f"uploaded {host} bytes for each of the 1,000 elements" in one.message
    (entry, *_) = diagnose(found, Outcome("exit", "", 1))
    assert (entry.cause, entry.status) == ("struct-layout", "likely")
    assert [each.severity for each in of(look(stepped(schema, tmp_path, host * N)))] == ["warning"]


@pytest.mark.parametrize(
    ("size", "more"),
    [
        (KERNELS * N, {}),
        (KERNELS * N + 64, {}),  # with a header or padding at its end
        (2 * KERNELS * N, {}),
        (KERNELS * 1500, {}),  # 1,500 of them, of which 1,000 are used
        (20 * N, {"copied": 19 * N}),
        (20 * N, {"at": 20}),
        (28 * N, {"packed": True}),  # another kernel moves the elements together before
        (20 * N, {"n": 999}),
        (20 * N, {"more": "ld.global.f64 %fd2, [%rd4+24];"}),  # the next one's, too
    ],
)
def test_elements_of_the_kernels_size_or_not_known(schema: str, look: Look, tmp_path: Path, size: int, more: dict[str, int]) -> None:
    assert not of(look(stepped(schema, tmp_path, size, **more), "exit", exit_code=1))  # type: ignore[arg-type]


def test_several_arrays_in_one_buffer(schema: str, look: Look, tmp_path: Path) -> None:
    """Of 24 and 4 bytes for each element: another kernel is passed the second one."""
    cuda = stepped(schema, tmp_path, 28 * N)
    (one,) = of(look(cuda, "exit", exit_code=1))
    assert one.allocation is not None and one.allocation.size == 28 * N
    cuda = stepped(schema, tmp_path, 28 * N)
    particles = max(call.fields["result"] for call in cuda._calls if call.name == "cuMemAlloc_v2")
    cuda.launch(cuda.kernel("_Z4massPfi", [8, 4]), [particles + 24 * N, N])
    assert not of(look(cuda, "exit", exit_code=1))


@pytest.mark.parametrize(("host", "severity"), [(20, "error"), (28, "warning")])
def test_only_elements_that_are_too_small_can_make_an_access_fail(
    schema: str, look: Look, tmp_path: Path, host: int, severity: str
) -> None:
    cuda = stepped(schema, tmp_path, host * N)
    cuda.sync(status=700)
    assert [one.severity for one in of(look(cuda, "exit", exit_code=1))] == [severity]
