"""element-width: double arrays for float kernels, and the correct programs that look most like it."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
from support import device_images
from support.cuda_world import CudaWorld
from support.detecting import Look, Make
from support.synthetic import GLOBAL, Arg, World

from gpudx.backends.opencl.plain_indices import by_global_id
from gpudx.detectors.element_width import ID
from gpudx.diagnose import diagnose
from gpudx.facts.launches import OFFSET_PART
from gpudx.model import Finding, Outcome

N = 2048
PLAIN = """
__kernel void power(__global const float *re, __global const float *im, __global float *p, int n) {
  int i = get_global_id(0);
  if (i < n) p[i] = re[i] * re[i] + im[i] * im[i];
}
__kernel void widened(__global const double *re, __global double *p) { int i = get_global_id(0); p[i] = re[i]; }
"""
PAIRS = PLAIN.replace("re[i] * re[i] + im[i] * im[i]", "re[2 * i] * im[2 * i + 1]")
FLOATS = [Arg("float*", "re", GLOBAL), Arg("float*", "im", GLOBAL), Arg("float*", "p", GLOBAL), Arg("int", "n")]


def _filled(world: World, size: int) -> int:
    buffer = world.buffer(size)
    world.call(
        "clEnqueueWriteBuffer", queue=world.queue, buffer=buffer, blocking=1, offset=0, size=size, ptr=0x7F0000001000
    )
    return buffer


def _power(world: World, re: int, im: int, out: int, items: int = N, n: int = N, **more: object) -> None:
    kernel = world.kernel("power", FLOATS)
    for index, buffer in enumerate((re, im, out)):
        world.set_arg(kernel, index, buffer)
    world.set_arg(kernel, 3, n, size=4)
    world.launch(kernel, (items,), (64,), **more)


def _of(found: list[Finding]) -> list[Finding]:
    return [f for f in found if f.id == ID]


def test_both_arrays_are_named_with_their_numbers(world: Make, look: Look) -> None:
    process = world(source=PLAIN)
    process.header["exe"] = b"/usr/bin/python3.11"  # type: ignore[assignment]
    _power(process, _filled(process, 8 * N), _filled(process, 8 * N), process.buffer(4 * N))
    (finding,) = _of(look(process))
    assert finding.severity == "warning"
    assert (
        "reads `re` and `im` as float" in finding.message
        and "8 bytes for each of the 2,048 elements" in finding.message
    )
    assert any("argument 2 `p` has 8,192 bytes" in one.text for one in finding.evidence)
    assert "astype(np.float32)" in finding.steps[0]


def test_a_launch_that_is_rounded_up(world: Make, look: Look) -> None:
    process = world(source=PLAIN)
    _power(process, _filled(process, 8000), _filled(process, 8000), process.buffer(4000), items=1024, n=1000)
    assert _of(look(process))


def test_it_is_likely_the_cause_of_a_failing_check(world: Make, look: Look) -> None:
    process = world(source=PLAIN)
    _power(process, _filled(process, 8 * N), _filled(process, 8 * N), process.buffer(4 * N))
    first = diagnose(look(process, "exit", exit_code=1), Outcome("exit", "", exit_code=1))[0]
    assert (first.cause, first.status) == (ID, "likely")


# ---- silent ----


@pytest.mark.parametrize("sizes", [(4, 4, 4), (8, 4, 4), (16, 16, 4), (8, 8, 12)])
def test_buffers_that_are_not_all_twice_as_large(world: Make, look: Look, sizes: tuple[int, int, int]) -> None:
    process = world(source=PLAIN)
    _power(process, _filled(process, sizes[0] * N), _filled(process, sizes[1] * N), process.buffer(sizes[2] * N))
    assert not _of(look(process))


def test_two_values_for_each_work_item(world: Make, look: Look) -> None:
    process = world(source=PAIRS)
    _power(process, _filled(process, 8 * N), _filled(process, 8 * N), process.buffer(4 * N))
    assert not _of(look(process))


def test_buffers_that_the_host_did_not_fill_whole(world: Make, look: Look) -> None:
    process = world(source=PLAIN)
    _power(process, process.buffer(8 * N), process.buffer(8 * N), process.buffer(4 * N))
    assert not _of(look(process))


def test_a_buffer_that_another_kernel_reads_as_doubles(world: Make, look: Look) -> None:
    process = world(source=PLAIN)
    re, im = _filled(process, 8 * N), _filled(process, 8 * N)
    _power(process, re, im, process.buffer(4 * N))
    other = process.kernel("widened", [Arg("double*", "re", GLOBAL), Arg("double*", "p", GLOBAL)])
    process.set_arg(other, 0, re)
    process.set_arg(other, 1, process.buffer(8 * N))
    process.launch(other, (N,))
    assert not _of(look(process))


def test_a_second_launch_for_the_second_half(world: Make, look: Look) -> None:
    process = world(source=PLAIN)
    re, im, out = _filled(process, 8 * N), _filled(process, 8 * N), process.buffer(8 * N)
    _power(process, re, im, out)
    kernel = process.kernel("power", FLOATS)
    for index, buffer in enumerate((re, im, out)):
        process.set_arg(kernel, index, buffer)
    process.set_arg(kernel, 3, 2 * N, size=4)
    held = process._held[kernel].arguments
    packed = b"".join(struct.pack("<HHIQII", i, *held[i][:3], 0, held[i][3]) for i in range(4))
    parts = [(process._parts["arguments"], packed), (OFFSET_PART, struct.pack("<Q", N))]
    process.call("clEnqueueNDRangeKernel", parts=parts, queue=process.queue, kernel=kernel, global_x=N, local_x=64)
    assert not _of(look(process))


def test_a_part_of_the_buffer_that_is_read_back(world: Make, look: Look) -> None:
    process = world(source=PLAIN)
    re, im = _filled(process, 8 * N), _filled(process, 8 * N)
    _power(process, re, im, process.buffer(4 * N))
    process.call(
        "clEnqueueReadBuffer", queue=process.queue, buffer=re, blocking=1, offset=4 * N, size=4 * N, ptr=0x7F0000001000
    )
    assert not _of(look(process))


# ---- sources ----

KERNEL = "__kernel void k(__global float *a, int n) {{ {} }}"


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("int i = get_global_id(0); if (i < n) a[i] = 1;", True),
        ("a[get_global_id(0)] = n;", True),
        ("const size_t i = get_global_id(0), j = 2; if (i <= n && i >= 0) a[i] += j;", True),
        ("int i = get_global_id(0); a[i + n] = 1;", False),
        ("int i = get_global_id(0); a[2 * i] = 1;", False),
        ("int i = get_global_id(1); a[i] = 1;", False),
        ("int i = get_global_id(0); i += n; a[i] = 1;", False),
        ("int i = get_global_id(0); i <<= 1; a[i] = 1;", False),
        ("int i = get_global_id(0); for (; i < n; i++) a[i] = 1;", False),
        ("for (int i = get_global_id(0); i < n; i += get_global_size(0)) a[i] = 1;", False),
        ("int i = get_global_id(0); next(&i); a[i] = 1;", False),
        ("int i = get_global_id(0); __global float *b = a + n; a[i] = b[i];", False),
        ("int i = get_global_id(0); a[i] = sum(a, n);", False),
        ("int i = get_global_id(0); for (int i = 0; i < n; ++i) a[i] = 1;", False),
    ],
)
def test_parameters_that_are_used_at_the_own_id_only(body: str, found: bool) -> None:
    assert ("a" in by_global_id(KERNEL.format(body), "k")) == found


def test_macros_that_may_hide_an_access_are_not_understood() -> None:
    body = KERNEL.format("int i = get_global_id(0); a[i] = LOAD(i);")
    assert not by_global_id(f"#define LOAD(i) a[i + n]\n{body}", "k")
    assert not by_global_id(KERNEL.format("int i = get_global_id(0);\n#ifdef X\na[i] = 1;\n#endif\n"), "k")


# ---- by what was uploaded ----


def _uploaded(world: Make, data: np.ndarray, declared: str = "float*", rewritten: bool = False) -> World:
    process = world()
    kernel = process.kernel("correlate", [Arg(declared, "pattern", GLOBAL), Arg("int", "m")])
    buffer = process.buffer(data.nbytes)
    process.call("clEnqueueWriteBuffer", begin=50_000, queue=process.queue, buffer=buffer, blocking=1, size=data.nbytes, ptr=0x5000)
    process.note("note_contents", {"began": 50_000, "size": data.nbytes}, numbers=data.view(np.uint64).tolist()[:64])
    if rewritten:
        other = process.buffer(data.nbytes)
        process.call("clEnqueueCopyBuffer", queue=process.queue, src_buffer=other, dst_buffer=buffer, size=data.nbytes)
    process.set_arg(kernel, 0, buffer)
    process.set_arg(kernel, 1, 64, size=4)
    process.launch(kernel, (100,))
    return process


def test_doubles_in_a_float_buffer_are_seen_by_their_bits(world: Make, look: Look) -> None:
    data = np.hanning(64) * np.sin(0.7 * np.arange(64))
    (finding,) = (one for one in look(_uploaded(world, data)) if one.id == "element-width")
    assert "uploaded doubles: the data makes sense as 8-byte numbers" in finding.message
    assert finding.attribution == "probable" and finding.root is not None and finding.root.call == "clEnqueueWriteBuffer"


@pytest.mark.parametrize(
    ("data", "declared", "silent"),
    [
        (np.arange(65) * 3, "int*", False),  # m + 1
        (np.arange(65) * 3, "long*", True),
        (np.arange(66, dtype=np.int32) * 3, "int*", True),
        (np.arange(50) * 3, "int*", True),  # 100 work-items, and 100 elements of 4 bytes
        (np.arange(40) * 3, "int*", True),  # no number of the launch says 40
        (np.arange(65) - 3, "int*", True),
    ],
)
def test_longs_for_a_parameter_of_ints(world: Make, look: Look, data: np.ndarray, declared: str, silent: bool) -> None:
    found = [one for one in look(_uploaded(world, data, declared), "exit", exit_code=1) if one.id == "element-width"]
    assert bool(found) is not silent
    assert silent or "as int, every second one is 0" in found[0].message


_RANDOM = np.random.default_rng(3)


@pytest.mark.parametrize(
    ("data", "declared", "rewritten"),
    [
        (np.sin(0.7 * np.arange(64)), "double*", False),
        (np.sin(0.7 * np.arange(64)), "uchar*", False),
        (np.sin(0.7 * np.arange(64)), "float*", True),  # another call wrote it before the launch
        (np.sin(0.7 * np.arange(128)).astype(np.float32), "float*", False),
        (np.exp(-np.linspace(0, 80, 128)).astype(np.float32), "float*", False),
        (np.stack([np.arange(64, dtype=np.uint32), np.ones(64, np.float32).view(np.uint32)], 1).ravel(), "float*", False),
        (_RANDOM.integers(0, 1 << 32, 128, np.uint32), "float*", False),
        (np.arange(64, dtype=np.float64), "float*", False),  # its lower halves are zero
        (np.zeros(64), "float*", False),
        (np.sin(0.7 * np.arange(4)), "float*", False),  # too few to say
    ],
)
def test_floats_and_other_data_are_silent(world: Make, look: Look, data: np.ndarray, declared: str, rewritten: bool) -> None:
    assert not [one for one in look(_uploaded(world, data, declared, rewritten)) if one.id == "element-width"]


# ---- CUDA, where the kernel's PTX shows what each thread uses ----

LOSS = "_Z4lossPKfPKiPfii"
CODE = """
.version 8.0
.target sm_90
.address_size 64
.visible .entry _Z4lossPKfPKiPfii(
	.param .u64 _Z4lossPKfPKiPfii_param_0,
	.param .u64 _Z4lossPKfPKiPfii_param_1,
	.param .u64 _Z4lossPKfPKiPfii_param_2,
	.param .u32 _Z4lossPKfPKiPfii_param_3,
	.param .u32 _Z4lossPKfPKiPfii_param_4
)
{
	ld.param.u64 %rd1, [_Z4lossPKfPKiPfii_param_0];
	ld.param.u64 %rd2, [_Z4lossPKfPKiPfii_param_1];
	ld.param.u64 %rd3, [_Z4lossPKfPKiPfii_param_2];
	ld.param.u32 %r3, [_Z4lossPKfPKiPfii_param_3];
	ld.param.u32 %r4, [_Z4lossPKfPKiPfii_param_4];
	mov.u32 %r5, %ctaid.x;
	mov.u32 %r6, %ntid.x;
	mov.u32 %r7, %tid.x;
	mad.lo.s32 %r1, %r5, %r6, %r7;
	cvta.to.global.u64 %rd4, %rd2;
	mul.wide.s32 %rd5, %r1, 4;
	add.s64 %rd6, %rd4, %rd5;
	ld.global.u32 %r8, [%rd6];
	mad.lo.s32 %r9, %r1, %r4, %r8;
	cvta.to.global.u64 %rd7, %rd1;
	mul.wide.s32 %rd8, %r9, 4;
	add.s64 %rd9, %rd7, %rd8;
	ld.global.f32 %f1, [%rd9];
	cvta.to.global.u64 %rd10, %rd3;
	add.s64 %rd11, %rd10, %rd5;
	st.global.f32 [%rd11], %f1;
	MORE
	ret;
}
"""


def _labels(schema: str, folder: Path, size: int, more: str = "", n: int = N, copied: int = 0) -> CudaWorld:
    """A loss of 10 classes, whose labels have `size` bytes."""
    cuda = CudaWorld(schema)
    cuda.header["exe"] = str(device_images.program(folder / "app", CODE.replace("MORE", more).encode())).encode()
    scores, labels, loss = cuda.alloc(40 * N), cuda.alloc(size), cuda.alloc(4 * N)
    for memory, bytes_ in ((scores, 40 * N), (labels, copied or size)):
        cuda.call("cuMemcpyHtoD_v2", dst=memory, src=0x5000, size=bytes_)
    cuda.launch(cuda.kernel(LOSS, [8, 8, 8, 4, 4]), [scores, labels, loss, n, 10], grid=(16, 1, 1), block=(128, 1, 1))
    cuda.sync()
    return cuda


def test_labels_of_64_bits_for_a_cuda_kernel_that_reads_32(schema: str, look: Look, tmp_path: Path) -> None:
    (one,) = _of(look(_labels(schema, tmp_path, 8 * N), "exit", exit_code=1))
    assert one.severity == "error" and one.site is not None and (one.site.kernel, one.site.argument) == ("loss", 1)
    assert "reads argument 1 as int" in one.message and "as for long" in one.message and "numpy" not in one.steps[0]
    assert any("each thread uses the element" in fact.text for fact in one.evidence)
    cuda = _labels(schema, tmp_path, 8 * N)
    cuda.sync(status=700)
    assert [found.severity for found in _of(look(cuda, "exit", exit_code=1))] == ["warning"], "this faults nowhere"


@pytest.mark.parametrize(
    ("size", "more", "copied"),
    [
        (4 * N, "", 0),
        (16 * N, "", 0),
        (8 * N, "", 4 * N),  # half of it is filled
        (8 * N, "ld.global.u32 %r10, [%rd6+8192];", 0),  # the second half is used as well
        (8 * N, "ld.global.u64 %rd12, [%rd9]; ld.global.u32 %r10, [%rd12];", 0),  # through addresses in memory
        (8 * N, "add.s64 %rd13, %rd4, %rd8; ld.global.u32 %r10, [%rd13];", 0),  # at other places too
    ],
)
def test_labels_that_fit_or_are_used_otherwise(schema: str, look: Look, tmp_path: Path, size: int, more: str, copied: int) -> None:
    more = more.replace("; ", ";\n\t")
    assert not _of(look(_labels(schema, tmp_path, size, more, copied=copied), "exit", exit_code=1))
