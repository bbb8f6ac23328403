"""A correct PyTorch program that touches much of CUDA: nothing in it deserves a complaint. Prints "ok"."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable

try:
    import torch
    from torch import Tensor, nn
except ImportError:
    print("skipped: torch is not installed")
    sys.exit(77)

COUNT = 1 << 18


def expect(got: Tensor, wanted: Tensor, tolerance: float = 1e-4) -> None:
    torch.testing.assert_close(got.cpu().double(), wanted.cpu().double(), rtol=tolerance, atol=tolerance)


def check_operations() -> None:
    """One call each of kernels that differ in how they take their arguments; the CPU says what is right."""
    x, index = torch.randn(64, 512), torch.randint(0, 64, (512,))
    calls: tuple[Callable[[Tensor, Tensor], Tensor], ...] = (
        lambda a, i: a @ a.T,
        lambda a, i: a.softmax(-1).cumsum(0),
        lambda a, i: a.sort(dim=1, descending=True).values,
        lambda a, i: a[i].sum(0) + a.argmax(0),
        lambda a, i: torch.zeros_like(a).index_add_(0, i, a[i % 8]),
        lambda a, i: torch.where(a > 0, a, a.exp()).transpose(0, 1).contiguous(),
        lambda a, i: torch.cat([a, a.roll(3, 1)], 1).unfold(1, 4, 2).mean(-1),
        lambda a, i: nn.functional.conv1d(a.view(8, 8, 512), a.view(32, 8, 128)[:, :, :5], padding=2),
        lambda a, i: nn.functional.layer_norm(a, (512,)).var(1),
    )
    for call in calls:
        expect(call(x.cuda(), index.cuda()), call(x.double(), index), 1e-3)


def check_half_attention() -> None:
    q, k, v = torch.randn(3, 2, 4, 128, 64).unbind(0)
    for kind in (torch.half, torch.bfloat16):
        got = nn.functional.scaled_dot_product_attention(*(t.cuda().to(kind) for t in (q, k, v)), is_causal=True)
        wanted = nn.functional.scaled_dot_product_attention(*(t.to(kind).double() for t in (q, k, v)), is_causal=True)
        expect(got, wanted, 3e-2)


def check_training() -> None:
    """Backward runs in threads of its own."""
    layers = (nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 14 * 14, 10))
    model = nn.Sequential(*layers).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    images, labels = torch.randn(32, 3, 16, 16, device="cuda"), torch.arange(32, device="cuda") % 10
    losses = []
    for _ in range(30):
        loss = nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 2, f"training did not help: {losses[0]} to {losses[-1]}"


def check_streams() -> None:
    """One stream makes, another uses; an event orders them, and record_stream keeps the memory."""
    first, second = torch.cuda.Stream(), torch.cuda.Stream()
    made = torch.cuda.Event()
    for round_ in range(10):
        with torch.cuda.stream(first):
            x = torch.full((COUNT,), float(round_), device="cuda")
            x += 1
            made.record(first)
        second.wait_event(made)
        with torch.cuda.stream(second):
            x.record_stream(second)
            total = x.double().sum()
        del x
        second.synchronize()
        assert total.item() == COUNT * (round_ + 1)


def check_pinned_copies() -> None:
    """Two pinned buffers take turns; a buffer is written again only when its copy is done."""
    stream = torch.cuda.Stream()
    hosts = [torch.empty(COUNT).pin_memory() for _ in range(2)]
    back = torch.empty(COUNT).pin_memory()
    copied = [torch.cuda.Event() for _ in hosts]
    with torch.cuda.stream(stream):
        total = torch.zeros(COUNT, device="cuda")
        for i in range(8):
            copied[i % 2].synchronize()
            hosts[i % 2].fill_(i)
            total += hosts[i % 2].to("cuda", non_blocking=True)
            copied[i % 2].record(stream)
        back.copy_(total, non_blocking=True)
    stream.synchronize()
    expect(back, torch.full((COUNT,), 28.0))


def check_graph() -> None:
    """Captured once, replayed with new contents in the same memory."""
    x, w = torch.randn(64, 64, device="cuda"), torch.randn(64, 64, device="cuda")
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        (x @ w).relu()  # libraries set themselves up outside the capture
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = (x @ w).relu() + 1
    for seed in range(5):
        x.copy_(torch.randn(64, 64, generator=torch.Generator().manual_seed(seed)))
        graph.replay()
        expect(y, (x.cpu().double() @ w.cpu().double()).relu() + 1, 5e-2)


def check_pool() -> None:
    """Memory goes back to the pool and comes out again; some of it goes back to the driver."""
    for round_ in range(5):
        blocks = [torch.full((257 << (i % 12),), i + round_, device="cuda") for i in range(50)]
        assert all((block == i + round_).all().item() for i, block in enumerate(blocks))
        del blocks
        torch.cuda.empty_cache()


def work_in_thread(number: int, results: list[float]) -> None:
    with torch.cuda.stream(torch.cuda.Stream()):
        x = torch.full((COUNT,), float(number), device="cuda")
        for _ in range(50):
            x = x + 1
        results[number] = x.mean().item()


def check_threads() -> None:
    results = [0.0] * 4
    threads = [threading.Thread(target=work_in_thread, args=(i, results)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [50.0, 51.0, 52.0, 53.0], results


def main() -> int:
    if not torch.cuda.is_available():
        print("skipped: torch sees no CUDA device")
        return 77
    torch.manual_seed(1)
    torch.backends.cudnn.allow_tf32 = False  # its convolutions would be too coarse to compare
    for check in (
        check_operations,
        check_half_attention,
        check_training,
        check_streams,
        check_pinned_copies,
        check_graph,
        check_pool,
        check_threads,
    ):
        check()
    torch.cuda.synchronize()
    print("ok")
    return 0


if __name__ == "__main__":
    sys.exit(main())
