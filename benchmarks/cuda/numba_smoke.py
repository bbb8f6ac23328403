"""A correct numba program: shared memory, atomics, streams, events, pinned memory. Prints "ok".

On a machine without a GPU the same code runs in numba's simulator, with NUMBA_ENABLE_CUDASIM=1.
"""

from __future__ import annotations

import sys

try:
    import numpy
    from numba import cuda, float32

    _ = numpy.row_stack  # looked up when the first kernel is compiled
except (ImportError, AttributeError) as error:  # numba uses names that newer numpy versions have dropped
    print(f"skipped: numba cannot be imported: {error}")
    sys.exit(77)

COUNT = 10_000
TILE = 8


@cuda.jit
def scale_add(out, a, b, factor):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = a[i] * factor + b[i]


@cuda.jit
def multiply(out, a, b):
    """One tile at a time through shared memory; the sizes are multiples of TILE."""
    left = cuda.shared.array((TILE, TILE), float32)
    right = cuda.shared.array((TILE, TILE), float32)  # on its own line: the simulator tells arrays apart by their lines
    x, y = cuda.grid(2)
    i, j = cuda.threadIdx.x, cuda.threadIdx.y
    total = float32(0)
    for start in range(0, a.shape[1], TILE):
        left[i, j] = a[x, start + j]
        right[i, j] = b[start + i, y]
        cuda.syncthreads()
        for k in range(TILE):
            total += left[i, k] * right[k, j]
        cuda.syncthreads()
    out[x, y] = total


@cuda.jit
def count_values(counts, values):
    for i in range(cuda.grid(1), values.size, cuda.gridsize(1)):
        cuda.atomic.add(counts, values[i], 1)


@cuda.jit
def add_one(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] += 1


def blocks(count: int) -> int:
    return (count + 127) // 128


def random(*shape: int) -> numpy.ndarray:
    return numpy.random.default_rng(1).random(shape, dtype=numpy.float32)


def check_arrays() -> None:
    """Arrays of the host, of the device, and a slice of the device's."""
    a, b = random(COUNT), random(COUNT)
    out = numpy.zeros_like(a)
    scale_add[blocks(COUNT), 128](out, a, b, numpy.float32(2))
    numpy.testing.assert_allclose(out, a * 2 + b, rtol=1e-6)
    there = cuda.to_device(a)
    scale_add[blocks(COUNT), 128](there[100:200], there[100:200], there[300:400], numpy.float32(1))
    a[100:200] += a[300:400]
    numpy.testing.assert_allclose(there.copy_to_host(), a, rtol=1e-6)


def check_shared() -> None:
    a, b = random(32, 48), random(48, 16)
    out = cuda.device_array((32, 16), numpy.float32)
    multiply[(4, 2), (TILE, TILE)](out, cuda.to_device(a), cuda.to_device(b))
    numpy.testing.assert_allclose(out.copy_to_host(), a @ b, rtol=1e-4)


def check_atomics() -> None:
    values = numpy.arange(COUNT, dtype=numpy.int32) * 7 % 50
    counts = cuda.to_device(numpy.zeros(50, numpy.int32))
    count_values[4, 64](counts, cuda.to_device(values))
    numpy.testing.assert_array_equal(counts.copy_to_host(), numpy.bincount(values, minlength=50))


def check_streams() -> None:
    """Pinned memory there and back; two streams, ordered by an event."""
    first, second, made = cuda.stream(), cuda.stream(), cuda.event()
    host, back = cuda.pinned_array(COUNT, numpy.float32), cuda.pinned_array(COUNT, numpy.float32)
    host[:] = random(COUNT)
    x = cuda.to_device(host, stream=first)
    add_one[blocks(COUNT), 128, first](x)
    made.record(first)
    made.wait(second)
    add_one[blocks(COUNT), 128, second](x)
    x.copy_to_host(back, stream=second)
    second.synchronize()
    numpy.testing.assert_allclose(back, host + 2, rtol=1e-6)


def check_memory() -> None:
    """Blocks come and go; numba frees them later, in batches."""
    for round_ in range(20):
        held = [cuda.to_device(numpy.full(100 << (i % 8), i + round_, numpy.int32)) for i in range(10)]
        for i, block in enumerate(held):
            add_one[blocks(block.size), 128](block)
            assert (block.copy_to_host() == i + round_ + 1).all()


def main() -> int:
    if not cuda.is_available():
        print("skipped: numba sees no CUDA device")
        return 77
    for check in (check_arrays, check_shared, check_atomics, check_streams, check_memory):
        check()
    cuda.synchronize()
    print("ok")
    return 0


if __name__ == "__main__":
    sys.exit(main())
