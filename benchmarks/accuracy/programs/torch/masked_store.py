# operator: aten::index_put_
import torch

cache = torch.zeros(16, 128, 8, device="cuda")
slots = torch.tensor([3, 7, 16], device="cuda")
for step in range(3):
    key = torch.randn(3, 8, device="cuda")
    cache[slots, step] = key  # HERE
print(cache.abs().sum().item())
