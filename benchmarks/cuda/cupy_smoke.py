"""A correct CuPy program that touches much of CUDA: nothing in it deserves a complaint. Prints "ok"."""

from __future__ import annotations

import sys

try:
    import cupy
    import cupyx
    import numpy
except ImportError:
    print("skipped: cupy is not installed")
    sys.exit(77)

COUNT = 1 << 16
SOURCE = r"""
struct Shape { int width; int height; float scale; };

extern "C" __global__ void transpose(float *out, const float *in, Shape shape)
{
    __shared__ float tile[16][17];
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    if (x < shape.width && y < shape.height)
        tile[threadIdx.y][threadIdx.x] = in[y * shape.width + x];
    __syncthreads();
    x = blockIdx.y * 16 + threadIdx.x;
    y = blockIdx.x * 16 + threadIdx.y;
    if (x < shape.height && y < shape.width)
        out[y * shape.height + x] = shape.scale * tile[threadIdx.x][threadIdx.y];
}

extern "C" __global__ void count_bytes(unsigned *counts, const unsigned char *bytes, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&counts[bytes[i]], 1u);
}

__constant__ float factors[4];

extern "C" __global__ void multiply(float *x, int n)
{
    extern __shared__ float copy[];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    copy[threadIdx.x] = i < n ? x[i] : 0.0f;
    if (i < n)
        x[i] = copy[threadIdx.x] * factors[i % 4];
}
"""
SHAPE = numpy.dtype([("width", "i4"), ("height", "i4"), ("scale", "f4")])


def expect(got: cupy.ndarray, wanted: numpy.ndarray, tolerance: float = 1e-5) -> None:
    numpy.testing.assert_allclose(cupy.asnumpy(got), wanted, rtol=tolerance, atol=tolerance)


def random(*shape: int) -> numpy.ndarray:
    return numpy.random.default_rng(1).random(shape, dtype=numpy.float32)


def check_operations() -> None:
    host = random(200, 300)
    x = cupy.asarray(host)
    expect(x.sum(axis=0), host.sum(axis=0), 1e-3)
    expect(cupy.sqrt(x)[::2, 5:-5] + 1, numpy.sqrt(host)[::2, 5:-5] + 1)
    expect(cupy.sort(x, axis=1), numpy.sort(host, axis=1))
    expect(cupy.concatenate([x.T, x[:, :200].T]), numpy.concatenate([host.T, host[:, :200].T]))
    expect(cupy.where(x > 0.5, x, 0).cumsum(), numpy.where(host > 0.5, host, 0).cumsum(dtype="f8"), 1e-3)


def check_own_kernels() -> None:
    square_sum = cupy.ElementwiseKernel("float32 x, float32 y", "float32 z", "z = x * x + y * y", "square_sum")
    norm = cupy.ReductionKernel("float32 x", "float32 y", "x * x", "a + b", "y = sqrt(a)", "0", "norm")
    a, b = random(COUNT), random(COUNT)[::-1].copy()
    expect(square_sum(cupy.asarray(a), cupy.asarray(b)), a * a + b * b)
    expect(norm(cupy.asarray(a)), numpy.linalg.norm(a.astype("f8")), 1e-2)


def check_module() -> None:
    """A struct by value, shared memory of both kinds, atomics, a constant."""
    module = cupy.RawModule(code=SOURCE)
    host = random(300, 200)
    out = cupy.empty((200, 300), numpy.float32)
    shape = numpy.array((200, 300, 2.0), SHAPE)
    module.get_function("transpose")((13, 19), (16, 16), (out, cupy.asarray(host), shape))
    expect(out, 2 * host.T)
    letters = numpy.frombuffer(b"mississippi" * 1000, numpy.uint8)
    counts = cupy.zeros(256, numpy.uint32)
    module.get_function("count_bytes")((8,), (128,), (counts, cupy.asarray(letters), numpy.int32(letters.size)))
    expect(counts, numpy.bincount(letters, minlength=256))
    check_constant(module)


def check_constant(module: cupy.RawModule) -> None:
    x = cupy.ones(1000, numpy.float32)
    factors = cupy.ndarray((4,), numpy.float32, module.get_global("factors"))
    factors[...] = cupy.arange(4, dtype=numpy.float32)
    module.get_function("multiply")((4,), (256,), (x, numpy.int32(1000)), shared_mem=1024)
    expect(x, numpy.arange(1000) % 4)


def check_streams() -> None:
    """One stream makes, another uses, an event orders them."""
    first, second = cupy.cuda.Stream(non_blocking=True), cupy.cuda.Stream(non_blocking=True)
    made = cupy.cuda.Event()
    x, y = cupy.zeros(COUNT, numpy.float32), cupy.zeros(COUNT, numpy.float32)
    cupy.cuda.Stream.null.synchronize()
    for _ in range(10):
        with first:
            cupy.add(x, 1, out=x)
            made.record(first)
        second.wait_event(made)
        with second:
            cupy.add(y, x, out=y)
            made.record(second)
        first.wait_event(made)
    first.synchronize()
    second.synchronize()
    expect(y, numpy.full(COUNT, 55.0))


def check_pinned_copies() -> None:
    stream = cupy.cuda.Stream(non_blocking=True)
    source, target = cupyx.empty_pinned(COUNT, numpy.float32), cupyx.empty_pinned(COUNT, numpy.float32)
    source[:] = random(COUNT)
    with stream:
        x = cupy.empty(COUNT, numpy.float32)
        x.set(source, stream=stream)
        x *= 3
        x.get(stream=stream, out=target, blocking=False)
    stream.synchronize()
    numpy.testing.assert_allclose(target, 3 * source, rtol=1e-6)


def check_graph() -> None:
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        x = cupy.zeros(COUNT, numpy.float32)
        cupy.add(x, 1, out=x)  # compiled outside the capture
        stream.begin_capture()
        for _ in range(5):
            cupy.add(x, 1, out=x)
        graph = stream.end_capture()
        for _ in range(4):
            graph.launch(stream)
    stream.synchronize()
    expect(x, numpy.full(COUNT, 21.0))


def fill_blocks() -> None:
    for round_ in range(5):
        blocks = [cupy.full(257 << (i % 12), i + round_, numpy.int32) for i in range(50)]
        assert all(bool((block == i + round_).all()) for i, block in enumerate(blocks))


def check_pools() -> None:
    """The default pool, the driver's own stream-ordered one, and none at all."""
    fill_blocks()
    cupy.get_default_memory_pool().free_all_blocks()
    with cupy.cuda.using_allocator(cupy.cuda.MemoryAsyncPool().malloc):
        fill_blocks()
        cupy.cuda.Stream.null.synchronize()
    with cupy.cuda.using_allocator(None):
        fill_blocks()


def check_matmul() -> None:
    """Left out where CuPy finds no cuBLAS: it is a package of its own."""
    try:
        import cupy_backends.cuda.libs.cublas  # noqa: F401
    except ImportError:
        return
    a, b = random(64, 100), random(100, 32)
    expect(cupy.asarray(a) @ cupy.asarray(b), a @ b, 1e-3)


def main() -> int:
    if not cupy.cuda.is_available():
        print("skipped: cupy sees no CUDA device")
        return 77
    for check in (
        check_operations,
        check_own_kernels,
        check_module,
        check_streams,
        check_pinned_copies,
        check_graph,
        check_pools,
        check_matmul,
    ):
        check()
    cupy.cuda.Device().synchronize()
    print("ok")
    return 0


if __name__ == "__main__":
    sys.exit(main())
