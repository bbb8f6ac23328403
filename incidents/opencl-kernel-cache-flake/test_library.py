"""The same story in Python: run by pytest, with each test in several threads (pytest-run-parallel), or one after another.

pytest --parallel-threads=8 test_library.py
TWIN=1 pytest --parallel-threads=8 test_library.py      the same without the faults
"""

from __future__ import annotations

import os
import threading

import numpy as np
import pyopencl as cl
import pytest

COUNT = 1024
TWIN = os.environ.get("TWIN") == "1"
SOURCE = """
kernel void affine(global const float *in, global float *out, float scale, float shift) {
    size_t i = get_global_id(0);
    out[i] = in[i] * scale + shift;
}
"""


class Library:
    """Keeps its kernel, and counts its buffers."""

    def __init__(self) -> None:
        self.context = cl.Context([device for platform in cl.get_platforms() for device in platform.get_devices()][:1])
        self.program = cl.Program(self.context, SOURCE).build()
        self._kernel = cl.Kernel(self.program, "affine")
        self._own = threading.local()
        self.lock = threading.Lock()
        self._live = 0

    def kernel(self) -> cl.Kernel:
        """The cached one; the twin has one for each thread."""
        if not TWIN:
            return self._kernel
        if not hasattr(self._own, "kernel"):
            self._own.kernel = cl.Kernel(self.program, "affine")
        return self._own.kernel

    @property
    def live(self) -> int:
        return getattr(self._own, "live", 0) if TWIN else self._live

    @live.setter
    def live(self, number: int) -> None:
        if TWIN:
            self._own.live = number
        else:
            self._live = number

    def buffer(self) -> cl.Buffer:
        self.live += 1
        return cl.Buffer(self.context, cl.mem_flags.READ_WRITE, 4 * COUNT)

    def release(self, buffer: cl.Buffer) -> None:
        buffer.release()
        self.live -= 1


LIBRARY = Library()


def set_argument(index: int, value: object) -> None:
    """Under the lock, as every call of the driver; it is given up before the next one."""
    with LIBRARY.lock:
        LIBRARY.kernel().set_arg(index, value)


def affine(numbers: np.ndarray, scale: float, queue: cl.CommandQueue) -> tuple[np.ndarray, np.float32]:
    """The shift is the mean of the numbers, which takes a moment: meanwhile other threads set arguments too."""
    given, made = LIBRARY.buffer(), LIBRARY.buffer()
    with LIBRARY.lock:
        cl.enqueue_copy(queue, given, numbers)
    set_argument(0, given)
    set_argument(1, made)
    set_argument(2, np.float32(scale))
    shift = np.float32(np.tile(numbers, 60).mean())
    set_argument(3, shift)
    out = np.zeros(COUNT, np.float32)
    with LIBRARY.lock:
        cl.enqueue_nd_range_kernel(queue, LIBRARY.kernel(), (COUNT,), None).wait()
        cl.enqueue_copy(queue, out, made)
    KEPT.extend((given, made))  # reused by later calls in the real library
    return out, shift


KEPT: list[cl.Buffer] = []


@pytest.mark.parametrize("name", ["bias", "gain", "rows", "columns", "layer", "batch", "group", "root"])
def test_affine(name: str) -> None:
    queue = cl.CommandQueue(LIBRARY.context)
    thread = threading.get_ident() % 1000
    for number in range(1, 3):
        numbers = np.arange(COUNT, dtype=np.float32) + thread
        out, shift = affine(numbers, float(thread % 7 + number), queue)
        np.testing.assert_allclose(out, numbers * np.float32(thread % 7 + number) + shift, rtol=1e-4, atol=1e-3)


def test_leaves_nothing_behind() -> None:
    queue, data = cl.CommandQueue(LIBRARY.context), np.full(COUNT, 7, np.float32)
    for _ in range(30):
        before = LIBRARY.live
        first, second = LIBRARY.buffer(), LIBRARY.buffer()
        with LIBRARY.lock:
            cl.enqueue_copy(queue, first, data)
            cl.enqueue_copy(queue, second, first)
            cl.enqueue_copy(queue, data, second)
        LIBRARY.release(first)
        LIBRARY.release(second)
        assert LIBRARY.live == before
