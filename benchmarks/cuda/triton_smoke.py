"""A correct Triton program: masks, reductions, tensor cores, atomics, autotuning. Prints "ok".

    triton_smoke.py [DEVICE]

On a machine without a GPU the same code runs with TRITON_INTERPRET=1 and "cpu" as the device.
"""

from __future__ import annotations

import sys

try:
    import torch
    import triton
    import triton.language as tl
except ImportError:
    print("skipped: triton or torch is not installed")
    sys.exit(77)

DEVICE = sys.argv[1] if len(sys.argv) > 1 else "cuda"


@triton.jit
def add_kernel(out, a, b, count, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < count
    tl.store(out + i, tl.load(a + i, mask=mask) + tl.load(b + i, mask=mask), mask=mask)


@triton.jit
def softmax_kernel(out, x, cols, stride, BLOCK: tl.constexpr):
    row, col = tl.program_id(0), tl.arange(0, BLOCK)
    values = tl.load(x + row * stride + col, mask=col < cols, other=-float("inf"))
    powers = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + row * stride + col, powers / tl.sum(powers, axis=0), mask=col < cols)


@triton.autotune([triton.Config({"BLOCK": 32}, num_warps=2), triton.Config({"BLOCK": 64}, num_warps=4)], key=["n"])
@triton.jit
def matmul_kernel(out, a, b, n, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    cols = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for start in range(0, n, BLOCK):
        inner = start + tl.arange(0, BLOCK)
        left = tl.load(a + rows[:, None] * n + inner[None, :])
        right = tl.load(b + inner[:, None] * n + cols[None, :])
        total += tl.dot(left, right)
    tl.store(out + rows[:, None] * n + cols[None, :], total)


@triton.jit
def histogram_kernel(counts, values, count, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < count
    value = tl.load(values + i, mask=mask, other=0)
    tl.atomic_add(counts + value, tl.full((BLOCK,), 1, tl.int32), mask=mask)


def check_add() -> None:
    """Sizes around the block's: the last block is full, nearly empty, or half used."""
    for count in (1, 1023, 1024, 1025, 100_000):
        a, b = torch.randn(2, count, device=DEVICE).unbind(0)
        out = torch.empty_like(a)
        add_kernel[(triton.cdiv(count, 1024),)](out, a, b, count, BLOCK=1024)
        torch.testing.assert_close(out, a + b)


def check_softmax() -> None:
    x = torch.randn(40, 300, device=DEVICE)
    out = torch.empty_like(x)
    softmax_kernel[(40,)](out, x, 300, x.stride(0), BLOCK=512)
    torch.testing.assert_close(out, x.softmax(1))


def check_matmul() -> None:
    n = 256
    a, b = torch.randn(2, n, n, device=DEVICE).half().unbind(0)
    out = torch.empty(n, n, device=DEVICE)
    matmul_kernel[lambda meta: (n // meta["BLOCK"], n // meta["BLOCK"])](out, a, b, n)
    torch.testing.assert_close(out.cpu().double(), a.cpu().double() @ b.cpu().double(), rtol=1e-2, atol=1e-1)


def check_histogram() -> None:
    values = torch.randint(0, 50, (10_000,), device=DEVICE)
    counts = torch.zeros(50, dtype=torch.int32, device=DEVICE)
    histogram_kernel[(triton.cdiv(10_000, 256),)](counts, values, 10_000, BLOCK=256)
    torch.testing.assert_close(counts.cpu().long(), values.cpu().bincount(minlength=50))


def check_streams() -> None:
    """One stream makes, another uses, an event orders them."""
    first, second = torch.cuda.Stream(), torch.cuda.Stream()
    made = torch.cuda.Event()
    ones, x, y = torch.ones(3, 5000, device=DEVICE).unbind(0)
    torch.cuda.synchronize()
    with torch.cuda.stream(first):
        add_kernel[(5,)](x, ones, ones, 5000, BLOCK=1024)
        made.record(first)
    second.wait_event(made)
    with torch.cuda.stream(second):
        add_kernel[(5,)](y, x, ones, 5000, BLOCK=1024)
    second.synchronize()
    assert y.sum().item() == 15000


def main() -> int:
    if DEVICE == "cuda" and not torch.cuda.is_available():
        print("skipped: torch sees no CUDA device")
        return 77
    torch.manual_seed(1)
    checks = [check_add, check_softmax, check_histogram]
    device_only = [check_matmul, check_streams]  # autotuning and streams need a driver
    for check in checks + (device_only if DEVICE == "cuda" else []):
        check()
    print("ok")
    return 0


if __name__ == "__main__":
    sys.exit(main())
