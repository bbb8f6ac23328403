"""A PyTorch model on the CPU whose embedding launches a kernel through the (fake) CUDA driver, forward and backward.

usage: torch_ops.py train|wrong|compiled|asserts"""

import ctypes
import sys

import torch
from torch import nn

driver = ctypes.CDLL("libcuda.so.1")
context, module, kernel = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
driver.cuInit(0)
driver.cuCtxCreate_v2(ctypes.byref(context), 0, 0)
driver.cuModuleLoadData(ctypes.byref(module), b"kernel pair 4 4\n")
driver.cuModuleGetFunction(ctypes.byref(kernel), module, b"pair")


def launch():
    values = [ctypes.c_int(1), ctypes.c_int(2)]
    params = (ctypes.c_void_p * 2)(*(ctypes.addressof(value) for value in values))
    driver.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, None, params, None)


def embedding(weight, indices, padding_idx=-1, scale_grad_by_freq=False, sparse=False):
    launch()
    return weight[indices % len(weight) if sys.argv[1] == "asserts" else indices]  # a device does not look


def embedding_dense_backward(grad, indices, rows, padding_idx, scale):
    launch()
    return torch.zeros(rows, grad.shape[-1])


library = torch.library.Library("aten", "IMPL")
library.impl("embedding", embedding, "CPU")
library.impl("embedding_dense_backward", embedding_dense_backward, "CPU")


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Embedding(10, 4), nn.Linear(4, 2)])

    def forward(self, x):
        return self.layers[1](self.layers[0](x)).sum()


net = Net()
if sys.argv[1] == "train":
    net(torch.tensor([1, 2])).backward()
    launch()  # outside of every module and operator
elif sys.argv[1] == "compiled":
    print(torch.compile(net, backend="aot_eager", fullgraph=True)(torch.tensor([1, 2])).shape)
    print(torch.jit.trace(net, torch.tensor([1]))(torch.tensor([2])).shape)
    print(torch.export.export(net, (torch.tensor([1]),)).graph_module.code.count("embedding"))
elif sys.argv[1] == "asserts":
    net(torch.tensor([1, 12]))
    if driver.cuCtxSynchronize():
        sys.exit("CUDA error: device-side assert triggered")
else:
    try:
        net(torch.tensor([[1, 2], [3, 12]]))
    except IndexError as error:
        print(error)
print("done")
