import torch
import triton
import triton.language as tl


@triton.jit
def row_sum(matrix, out, stride, COLUMNS: tl.constexpr):
    row = tl.program_id(0)
    values = tl.load(matrix + row * stride + tl.arange(0, COLUMNS))
    tl.store(out + row, tl.sum(values, axis=0))


matrix = torch.randn(4096, 1024, device="cuda")
out = torch.empty(4096, device="cuda")
row_sum[(4096,)](matrix, out, matrix.stride(0) * 4096, COLUMNS=1024)  # HERE
print(out.sum().item())
