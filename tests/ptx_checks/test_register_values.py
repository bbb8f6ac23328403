"""What registers of a kernel hold, in PTX that nvcc writes."""

from __future__ import annotations

import pytest
from support.compilers import compiled, nvcc

from gpudx.ptx_checks.values import Access, Values

SOURCE = """
extern "C" __global__ void pixels(cudaTextureObject_t image, float *out, int w, int h)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < w && y < h) out[y * w + x] = tex2D<float>(image, x + 0.5f, y + 0.5f);
}
extern "C" __global__ void fractions(cudaTextureObject_t image, float *out, int w, int h)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = threadIdx.y + blockDim.y * blockIdx.y;
    if (x < w && y < h) out[y * w + x] = tex2D<float>(image, (x + 0.5f) / w, (y + 0.5f) / h);
}
extern "C" __global__ void row(cudaTextureObject_t image, float *out, int w, int h, float step)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    for (int y = 0; y < h; y++) out[y * w + x] = tex2D<float>(image, x * step, y + 0.5f);
}
extern "C" __global__ void labels(const float *scores, const int *label, float *loss, int n, int classes)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) loss[i] = -scores[i * classes + label[i]];
}
extern "C" __global__ void loss(const float *scores, const int *label, float *loss, int n, int classes)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float *mine = scores + (size_t)i * classes;
    float sum = 0;
    for (int c = 0; c < classes; c++) sum += expf(mine[c]);
    loss[i] = logf(sum) - mine[label[i]];
}
extern "C" __global__ void table(float **rows, const int *which, float *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = rows[which[i]][0];
}
extern "C" __global__ void sides(const int *in, int *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[i] + in[i + 1];
}
struct Particle { float x, y, z; double mass; };
extern "C" __global__ void pairs(Particle *p, float dt, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { p[i].x += p[i].y * dt; p[i].mass *= 2; }
}
extern "C" __global__ void wrong(const float2 *p, float *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = p[i].x * p[i + 1].y;
}
extern "C" __global__ void grid(const int *in, float *out, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) out[i] = in[i] * 2.0f;
}
extern "C" __global__ void wide(const double *in, double *out, size_t n)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[n - 1 - i];
}
"""


@pytest.fixture(scope="module")
def text() -> str:
    return compiled("k.ptx", "k.cu", SOURCE, nvcc(), "-ptx", "-arch=sm_90", "-lineinfo").read_text()


def test_pixel_numbers(text: str) -> None:
    values = Values(text, "pixels")
    (one,) = values.samples()
    whole = [values.whole(register) for register in one.coordinates]
    assert one.parameter == 0 and [values.axis(register or "") for register in whole] == ["x", "y"]


def test_fractions(text: str) -> None:
    values = Values(text, "fractions")
    (one,) = values.samples()
    ratios = [values.ratio(register) for register in one.coordinates]
    assert [(values.axis(ratio[0]), values.parameter(ratio[1])) for ratio in ratios if ratio] == [("x", 2), ("y", 3)]
    assert not any(map(values.whole, one.coordinates))


def test_what_is_scaled_by_a_number_of_the_host_is_neither(text: str) -> None:
    values = Values(text, "row")
    samples = list(values.samples())
    assert samples and not any(values.whole(one.coordinates[0]) or values.ratio(one.coordinates[0]) for one in samples)


def test_accesses_at_the_own_id(text: str) -> None:
    values = Values(text, "labels")
    found = {one.parameter: one for one in values.accesses()}
    assert found[1] == Access(1, "x", 4, 0, 4, frozenset((1,))) and found[0].axis is None
    assert values.strides == {1: 4, 2: 4}


def test_a_loop_through_other_memory_does_not_hide_the_own_id(text: str) -> None:
    assert Values(text, "loss").strides == {1: 4, 2: 4}


@pytest.mark.parametrize(("kernel", "own"), [("sides", {1: 4}), ("table", {}), ("pairs", {0: 24}), ("wrong", {1: 4})])
def test_other_accesses_and_addresses_from_memory(text: str, kernel: str, own: dict[int, int]) -> None:
    assert Values(text, kernel).strides == own


def test_an_index_from_the_other_end_is_not_the_own_id(text: str) -> None:
    assert not any(one.parameter == 0 and one.axis for one in Values(text, "wide").accesses())


def test_kernels_that_are_not_there_are_not_known(text: str) -> None:
    values = Values(text, "other")
    assert not values.is_known and not list(values.accesses()) and not list(values.samples())


def test_a_loop_over_the_data_in_steps_of_the_grid_is_not_followed(text: str) -> None:
    """There are as many elements as the loop goes on for, which the number of threads does not say."""
    assert not Values(text, "grid").strides
