# operator: aten::embedding
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width: int, longest: int) -> None:
        super().__init__()
        self.positions = nn.Embedding(longest, width)
        self.mix = nn.Linear(width, width)

    def forward(self, x):
        places = torch.arange(x.shape[1], device=x.device)
        return self.mix(x + self.positions(places))  # HERE


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Block(32, 128) for _ in range(4))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


model = Model().cuda()
for length in (64, 128, 160):
    print(model(torch.randn(2, length, 32, device="cuda")).mean().item())
