"""How long a training step of a small GPT takes: batch 8 x 128, 6 layers, single precision, AdamW.

    torch_train.py [--steps N]

Prints "step NANOSECONDS", the median over the steps, each with a wait for the device in it.
"""

from __future__ import annotations

import argparse
import statistics
import time

import torch
from torch import Tensor, nn
from torch.nn import functional

BATCH, LENGTH, LAYERS, WIDTH, HEADS, WORDS = 8, 128, 6, 384, 6, 5000
WARM_UP = 30


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.mix, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (part.view(BATCH, LENGTH, HEADS, -1).transpose(1, 2) for part in self.mix(self.norm1(x)).chunk(3, dim=2))
        mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(x.shape))
        return x + self.down(functional.gelu(self.up(self.norm2(x))))


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(WORDS, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.layers = nn.Sequential(*(Layer() for _ in range(LAYERS)))
        self.head = nn.Linear(WIDTH, WORDS)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.head(self.layers(self.words(tokens) + self.places(torch.arange(LENGTH, device=tokens.device))))


def step_ns(model: nn.Module, optimizer: torch.optim.Optimizer, tokens: Tensor) -> int:
    begin = time.perf_counter_ns()
    loss = functional.cross_entropy(model(tokens).view(-1, WORDS), tokens.view(-1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    torch.cuda.synchronize()
    return time.perf_counter_ns() - begin


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=50)
    steps = parser.parse_args().steps
    torch.manual_seed(1)
    model = Model().cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    tokens = torch.randint(0, WORDS, (BATCH, LENGTH), device="cuda")
    for _ in range(min(WARM_UP, steps)):
        step_ns(model, optimizer, tokens)
    print(f"step {statistics.median(step_ns(model, optimizer, tokens) for _ in range(steps)):.0f}")


if __name__ == "__main__":
    main()
