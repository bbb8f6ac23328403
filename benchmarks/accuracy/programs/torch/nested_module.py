# operator: aten::embedding
import torch
from torch import nn


class Heads(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.bias = nn.Embedding(32, 4)

    def forward(self, distance):
        return self.bias(distance)  # HERE


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attention = Heads()

    def forward(self, x):
        length = x.shape[1]
        places = torch.arange(length, device=x.device)
        return x + self.attention(places[None] - places[:, None]).sum()  # negative distances


model = nn.Sequential(nn.Linear(8, 8), Layer(), Layer()).cuda()
print(model(torch.randn(2, 16, 8, device="cuda")).sum().item())
