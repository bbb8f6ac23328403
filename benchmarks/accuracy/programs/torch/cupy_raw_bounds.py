import cupy

kernel = cupy.RawKernel(
    r"""
extern "C" __global__ void shift(const float *from, float *to, long long offset, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        to[i + offset] = from[i];
}
""",
    "shift",
)
source = cupy.arange(100_000, dtype=cupy.float32)
target = cupy.empty_like(source)
kernel((391,), (256,), (source, target, cupy.int64(-(1 << 34)), cupy.int32(100_000)))  # HERE
print(float(target.sum()))
