import cupy
import numpy

kernel = cupy.RawKernel(
    r"""
extern "C" __global__ void add(const float *a, float *b, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        b[i] += a[i];
}
""",
    "add",
)
host = numpy.ones(4096, dtype=numpy.float32)
total = cupy.zeros(4096, dtype=cupy.float32)
kernel((16,), (256,), (cupy.uint64(host.ctypes.data), total, cupy.int32(4096)))  # HERE
print(float(total.sum()))
