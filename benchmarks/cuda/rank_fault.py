"""A rank of a job that fails, on one GPU or on processors: `torchrun --standalone --nproc-per-node N rank_fault.py RANK HOW`.

HOW: index, raise or crash.
"""

from __future__ import annotations

import ctypes
import sys

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
odd, how = int(sys.argv[1]), sys.argv[2]
device = "cuda" if torch.cuda.is_available() else "cpu"
table = torch.nn.Embedding(100, 16).to(device)
total = torch.zeros(16)
for step in range(6):
    index = torch.arange(8, device=device)
    if dist.get_rank() == odd and step == 3:
        if how == "raise":
            raise RuntimeError("planted")
        if how == "crash":
            ctypes.string_at(16)
        index = index + 99
    total += table(index).sum(0).detach().cpu()
    dist.all_reduce(total)
dist.barrier()
