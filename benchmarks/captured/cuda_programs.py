"""Launches of CUDA programs to capture: those of tests/cuda/gpu/capsules.cu, and PyTorch's and CuPy's own kernels.

cuda_programs.py torch|cupy NAME runs one operation and prints a sum."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

COMPILED = ("scaled", "scaled#2", "scaled#3", "gather", "reduce", "count", "weigh", "rows_of", "grid3")
N = 1 << 16
# name: a part of the kernel's symbol, and what launches it
TORCH: dict[str, tuple[str, Callable[[Any, Any], Any]]] = {
    "exp": ("vectorized_elementwise_kernel", lambda t, x: x.exp()),
    "add": ("vectorized_elementwise_kernel#2", lambda t, x: x.cos() + x),
    "half": ("vectorized_elementwise_kernel#2", lambda t, x: x.half() * 2),
    "bfloat16": ("vectorized_elementwise_kernel#2", lambda t, x: x.bfloat16().sigmoid()),
    "sum": ("reduce_kernel", lambda t, x: x.sum(0)),
    "argmax": ("reduce_kernel", lambda t, x: x.argmax(1)),
    "softmax": ("softmax_warp_forward", lambda t, x: t.softmax(x, 1)),
    "layer_norm": ("vectorized_layer_norm_kernel", lambda t, x: t.nn.functional.layer_norm(x, (256,))),
    "transposed": ("elementwise_kernel", lambda t, x: x.t() + x),
    "index": (
        "index_elementwise_kernel",
        lambda t, x: x[t.arange(255, -1, -1, device="cuda"), t.arange(256, device="cuda")],
    ),
    "scatter": (  # whole numbers: no order of additions changes their sums
        "_scatter_gather_elementwise_kernel",
        lambda t, x: t.zeros_like(x).scatter_add(1, (x > 1).long(), x.round()),
    ),
    "cumsum": ("tensor_kernel_scan_innermost_dim", lambda t, x: x.cumsum(1)),
    "embedding": ("indexSelectSmallIndex", lambda t, x: t.nn.functional.embedding(t.arange(8, device="cuda"), x)),
    "pool": ("max_pool_forward_nchw", lambda t, x: t.nn.functional.max_pool2d(x[None, None], 2)),
    "triu": ("triu_tril_kernel", lambda t, x: x.triu()),
    "where": ("vectorized_elementwise_kernel", lambda t, x: x.clamp(1, 3)),
}
CUPY: dict[str, tuple[str, Callable[[Any, Any], Any]]] = {
    "sqrt": ("cupy_sqrt__float32_float32", lambda c, x: c.sqrt(x)),
    "power": ("cupy_multiply__float32_float_float32", lambda c, x: x * 2.5),
    "raw": ("squares", lambda c, x: _raw(c, x)),
    "minimum": ("cupy_minimum__float32_float32_float32", lambda c, x: c.minimum(x, x * 2 - 3)),
    "where": ("cupy_where__bool_float32_float32_float32", lambda c, x: c.where(x > 1, x, x * 2)),
}


def _raw(cupy: Any, x: Any) -> Any:
    source = 'extern "C" __global__ void squares(float *o, const float *x) { int i = blockIdx.x * 256 + threadIdx.x; o[i] = x[i] * x[i]; }'
    out = cupy.zeros_like(x)
    cupy.RawKernel(source, "squares")((x.size // 256,), (256,), (out, x))
    return out


def build(where: Path, root: Path) -> Path:
    program = where / "capsules"
    subprocess.run(["nvcc", "-arch=native", "-o", program, root / "tests/cuda/gpu/capsules.cu"], check=True)
    return program


def every(program: Path) -> Iterator[tuple[str, str, list[object]]]:
    for kernel in COMPILED:
        yield kernel, kernel, [program]
    for library, table in (("torch", TORCH), ("cupy", CUPY)):
        for name, (kernel, _) in table.items():
            yield f"{library}_{name}", kernel, [sys.executable, __file__, library, name]


def main(library: str, name: str) -> None:
    if library == "torch":
        import torch

        x = torch.linspace(0, 5, N).reshape(256, 256).cuda()
        print(float(TORCH[name][1](torch, x).double().sum()))
    else:
        import cupy

        x = cupy.asarray([[0.01 * (i % 256) + j for i in range(256)] for j in range(256)], "f4")
        print(float(CUPY[name][1](cupy, x).astype("f8").sum()))


if __name__ == "__main__":
    main(*sys.argv[1:])
