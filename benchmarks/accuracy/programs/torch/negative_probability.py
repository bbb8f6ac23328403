# operator: aten::multinomial
import torch

logits = torch.randn(4, 50, device="cuda")
logits[2, 7] = float("nan")
probabilities = torch.softmax(logits, dim=-1)
token = torch.multinomial(probabilities, 1)  # HERE
print(token.tolist())
