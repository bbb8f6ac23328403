"""How long a transformer's forward pass takes: batch 4 x 128, 8 layers, half precision.

    torch_forward.py [--iterations N] [--device cuda] [--turns N] [--crumbs SETTING...] [--warm-up N]

Prints "forward NANOSECONDS", the median over the iterations, each with a wait for the device in it. With --turns, plain and
recorded passes take turns inside this process (inside.py), to be run under `gpudx run`: it prints "forward_plain NANOSECONDS",
"forward_recorded NANOSECONDS" (medians over the turns) and "forward_ratio R" (median of the ratios of neighbouring turns). With
--crumbs the settings of breadcrumbs take turns too: a line "forward SETTING PLAIN RECORDED RATIO" for each.
"""

from __future__ import annotations

import argparse
import hashlib
import statistics
import time
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn
from torch.nn import functional

FORWARDS_A_TURN = 10
BATCH, LENGTH, LAYERS, WIDTH, HEADS = 4, 128, 8, 512, 8
WARM_UP = 200  # unless told; also fills the ring of the recorder once: its first lap takes fresh pages from the system


class Layer(nn.Module):
    """Attention and feed-forward, each behind a norm and around a shortcut.

    By hand: torch.nn.TransformerEncoder would fuse a layer into few launches, and launches are what is measured.
    """

    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.query, self.key, self.value, self.out = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attend(self.norm1(x))
        return x + self.down(functional.gelu(self.up(self.norm2(x))))

    def attend(self, x: Tensor) -> Tensor:
        q, k, v = (split_heads(part(x)) for part in (self.query, self.key, self.value))
        mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(mixed.transpose(1, 2).reshape(x.shape))


def split_heads(x: Tensor) -> Tensor:
    return x.view(BATCH, LENGTH, HEADS, WIDTH // HEADS).transpose(1, 2)


def wait(device: str) -> None:
    if device == "cuda":
        torch.cuda.synchronize()


def forward_ns(model: nn.Module, x: Tensor, device: str) -> int:
    begin = time.perf_counter_ns()
    model(x)
    wait(device)
    return time.perf_counter_ns() - begin


def median_ns(model: nn.Module, x: Tensor, device: str, count: int) -> float:
    return statistics.median(forward_ns(model, x, device) for _ in range(count))


@dataclass
class Turns:
    """Plain and recorded passes of one setting, turn by turn."""

    times: tuple[list[float], list[float]] = field(default_factory=lambda: ([], []))

    def summary(self) -> tuple[float, float, float]:
        """Median plain, median recorded, median of the ratios."""
        ratio = statistics.median(b / a for a, b in zip(*self.times, strict=True))
        return statistics.median(self.times[0]), statistics.median(self.times[1]), ratio


def take_turns(model: nn.Module, x: Tensor, device: str, turns: int, settings: list[str]) -> dict[str, Turns]:
    """For each setting of breadcrumbs; "" leaves it as it is."""
    import inside  # needs the recorder, which the plain runs do without

    switch = inside.Switch()
    found = {setting: Turns() for setting in settings}
    for number in range(turns):
        for setting in settings:
            if setting:
                switch.set_crumbs(setting)
            for recorded in (False, True) if number % 2 else (True, False):
                switch.set(recorded)
                found[setting].times[recorded].append(median_ns(model, x, device, FORWARDS_A_TURN))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--iterations", type=int, default=300)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--turns", type=int, default=0)
    parser.add_argument("--crumbs", nargs="*", default=[])
    parser.add_argument("--warm-up", type=int, default=WARM_UP)
    parser.add_argument("--digest", action="store_true", help="print a digest of the output, and no time")
    options = parser.parse_args()
    torch.manual_seed(1)
    model = nn.Sequential(*(Layer() for _ in range(LAYERS))).half().eval().to(options.device)
    x = torch.randn(BATCH, LENGTH, WIDTH, dtype=torch.half).to(options.device)
    with torch.inference_mode():
        for _ in range(options.warm_up):
            forward_ns(model, x, options.device)
        if options.digest:
            print("output", hashlib.sha256(model(x).cpu().numpy().tobytes()).hexdigest())
        elif options.turns:
            found = take_turns(model, x, options.device, options.turns, options.crumbs or [""])
            for setting, (plain, recorded, ratio) in ((name, turns.summary()) for name, turns in found.items()):
                if setting:
                    print(f"forward {setting} {plain:.0f} {recorded:.0f} {ratio:.4f}")
                else:
                    print(f"forward_plain {plain:.0f}\nforward_recorded {recorded:.0f}\nforward_ratio {ratio:.4f}")
        else:
            print(f"forward {median_ns(model, x, options.device, options.iterations):.0f}")
        assert torch.isfinite(model(x)).all().item(), "the model's output is not finite"


if __name__ == "__main__":
    main()
