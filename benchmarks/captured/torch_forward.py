"""A forward pass of a small transformer; prints its median time."""

from __future__ import annotations

import statistics
import time

import torch

torch.manual_seed(0)
layer = torch.nn.TransformerEncoderLayer(512, 8, 2048, batch_first=True)
model = torch.nn.TransformerEncoder(layer, 6, enable_nested_tensor=False).cuda().eval()
x = torch.randn(16, 256, 512, device="cuda")
times = []
with torch.no_grad():
    for _ in range(30):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        model(x)
        torch.cuda.synchronize()
        times.append(time.perf_counter() - begin)
print(f"{statistics.median(times[10:]) * 1e3:.3f} ms")
