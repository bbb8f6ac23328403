import cupy

kernel = cupy.RawKernel(
    r"""
extern "C" __global__ void twice(float *x, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        x[i] *= 2;
}
""",
    "twice",
)
values = cupy.ones(8192, dtype=cupy.float32)
threads = 2048
kernel((8192 // threads,), (threads,), (values, cupy.int32(8192)))  # HERE
print(float(values.sum()))
