# operator: aten::binary_cross_entropy
import torch
import torch.nn.functional as F

scores = torch.randn(128, device="cuda")  # a sigmoid is missing
target = torch.randint(0, 2, (128,), device="cuda").float()
loss = F.binary_cross_entropy(scores, target)  # HERE
print(loss.item())
