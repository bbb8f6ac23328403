# operator: aten::gather
import torch

values = torch.randn(64, 100, device="cuda")
best = values.topk(5, dim=1).indices
kept = values[:, :50]
for _ in range(2):
    chosen = kept.gather(1, best)  # HERE
print(chosen.sum().item())
