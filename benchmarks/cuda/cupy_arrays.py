"""How long a CuPy program takes that makes arrays all the time: `cupy_arrays.py [ROUNDS]` prints "arrays NANOSECONDS", the median."""

from __future__ import annotations

import statistics
import sys
import time

import cupy

WARM_UP, STEPS = 100, 20


def round_ns(a: cupy.ndarray, b: cupy.ndarray) -> int:
    begin = time.perf_counter_ns()
    for _ in range(STEPS):
        a = cupy.tanh(a * 0.5 + b) - a.mean(axis=0)
    cupy.cuda.get_current_stream().synchronize()
    return time.perf_counter_ns() - begin


rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 200
x, y = cupy.ones((512, 512), cupy.float32), cupy.full((512, 512), 0.25, cupy.float32)
for _ in range(min(WARM_UP, rounds)):
    round_ns(x, y)
print(f"arrays {statistics.median(round_ns(x, y) for _ in range(rounds)):.0f}")
