"""A Triton kernel on Triton's own AMD driver, without torch: the runtime is the library that TRITON_LIBHIP_PATH names.

    triton_add.py ELEMENTS [unmasked]      adds two vectors of so many elements; unmasked: the store has no mask
"""

import ctypes
import os
import sys

import triton
import triton.language as tl
from triton.backends.amd.driver import HIPDriver, HIPLauncher, HIPUtils

BLOCK = 1024


@triton.jit
def add_masked(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) + tl.load(y + at, mask=at < n), mask=at < n)


@triton.jit
def add_unmasked(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) + tl.load(y + at, mask=at < n))


class Driver(HIPDriver):
    """Triton's driver for AMD, with the questions that it would ask torch."""

    def __init__(self):
        self.utils, self.launcher_cls = HIPUtils(), HIPLauncher

    def get_current_device(self):
        return 0

    def get_current_stream(self, device):
        return 0

    def get_device_interface(self):
        return None


class Buffer:
    """What Triton takes as a tensor: a pointer and a type."""

    def __init__(self, hip, count):
        self.count, self.dtype, address = count, "fp32", ctypes.c_void_p()
        assert hip.hipMalloc(ctypes.byref(address), ctypes.c_size_t(4 * count)) == 0
        self.address = address.value

    def data_ptr(self):
        return self.address


def main():
    hip = ctypes.CDLL(os.environ["TRITON_LIBHIP_PATH"])
    hip.hipGetErrorString.restype = ctypes.c_char_p
    triton.runtime.driver.set_active(Driver())
    n = int(sys.argv[1])
    kernel = add_unmasked if "unmasked" in sys.argv else add_masked
    x, y, out = (Buffer(hip, n) for _ in range(3))
    ones = (ctypes.c_float * n)(*([1.0] * n))
    for buffer in (x, y):
        hip.hipMemcpy(ctypes.c_void_p(buffer.address), ones, ctypes.c_size_t(4 * n), 1)
    kernel[(triton.cdiv(n, BLOCK),)](x, y, out, n, BLOCK=BLOCK)
    status = hip.hipDeviceSynchronize()
    if status:
        print(f"add failed: {hip.hipGetErrorString(status).decode()}")
        return 1
    back = (ctypes.c_float * n)()
    hip.hipMemcpy(back, ctypes.c_void_p(out.address), ctypes.c_size_t(4 * n), 2)
    print("sum", sum(back))
    return 0


sys.exit(main())
