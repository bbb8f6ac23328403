import torch
import triton
import triton.language as tl


@triton.jit
def fill(target, value, step, BLOCK: tl.constexpr):
    at = (tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)) * step
    tl.store(target + at, value)


class Ones(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.shape = x.shape
        return x.sum()

    @staticmethod
    def backward(ctx, grad):
        result = torch.empty(ctx.shape, device="cuda")
        fill[(result.numel() // 256,)](result, 1.0, 65536, BLOCK=256)  # HERE
        return result * grad


x = torch.randn(1 << 16, device="cuda", requires_grad=True)
Ones.apply(x * 2).backward()
print(x.grad.sum().item())
