"""Device code for tests: AMD code objects and bundles made by hand, and real ones from the compilers where they are installed."""

from __future__ import annotations

import shutil
import struct
import zlib
from collections.abc import Sequence
from pathlib import Path

import pytest
from dump_kit import Section, elf
from support.compilers import compiled

AMDGPU, NOTE = 224, 7
HIPCC, NVCC = shutil.which("hipcc"), shutil.which("nvcc")
OBJDUMP = shutil.which("llvm-objdump-15") or shutil.which("llvm-objdump")  # older ones do not know newer targets
HIP_SOURCE = """
#include <hip/hip_runtime.h>
struct Pair { int a; double b; };
__global__ void saxpy(float* y, const float* x, float a, int n, Pair p) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + p.a;
}
__global__ __launch_bounds__(64) void tile(float4* y, int n) {
  __shared__ float4 t[64];
  t[threadIdx.x] = y[threadIdx.x];
  __syncthreads();
  y[threadIdx.x] = t[(threadIdx.x + n) & 63];
}
__global__ void stacky(float* y, int n) {
  volatile float a[512];
  for (int i = 0; i < 512; i++) a[i] = y[i];
  y[0] = a[n & 511];
}
__global__ __attribute__((amdgpu_num_vgpr(24))) void spilly(float* y, int n) {
  float a[64];
#pragma unroll
  for (int i = 0; i < 64; i++) a[i] = y[i * n];
  __syncthreads();
#pragma unroll
  for (int i = 0; i < 64; i++) y[i] = a[i] * a[(i * 7) % 64] + a[63 - i];
}
__global__ void dead(float* y) { __builtin_trap(); }
__global__ void careful(float* y, int n) { if (n < 0) __builtin_trap(); y[n] = 1; }
__global__ void reaches(float* y, int n) { y[n] = 1; __builtin_trap(); }
extern "C" __global__ void plain(int* p) { *p = 1; }
int main() { saxpy<<<1, 64>>>(nullptr, nullptr, 1.f, 3, Pair{}); return 0; }
"""
BARE_SOURCE = """
typedef struct { int a[9]; } many;
kernel void scale(global float* y, global const float* x, float a, int n, many m) {
  int i = __builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x();
  if (i < n) y[i] = a * x[i] + m.a[i & 7] * 123456.0f;
}
kernel void stacky(global float* y, int n) {
  volatile float a[512];
  for (int i = 0; i < 512; i++) a[i] = y[i];
  y[0] = a[n & 511];
}
kernel void dead(global float* y) { __builtin_trap(); }
kernel void careful(global float* y, int n) { if (n < 0) __builtin_trap(); y[n] = 1; }
kernel void reaches(global float* y, int n) { y[n] = 1; __builtin_trap(); }
"""  # OpenCL without any library: for targets whose libraries are not installed
CUDA_SOURCE = """
__global__ void saxpy(float* y, const float* x, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i];
}
__global__ __launch_bounds__(64) void tile(float* y, int n) {
  __shared__ float t[256];
  t[threadIdx.x] = y[threadIdx.x];
  __syncthreads();
  y[threadIdx.x] = t[(threadIdx.x + n) & 63];
}
__global__ void stacky(float* y, int n) {
  volatile float a[512];
  for (int i = 0; i < 512; i++) a[i] = y[i];
  y[0] = a[n & 511];
}
__global__ void dead(float* y) { __trap(); }
__global__ void careful(float* y, int n) { if (n < 0) __trap(); y[n] = 1; }
__global__ void reaches(float* y, int n) { y[n] = 1; __trap(); }
int main() { return 0; }
"""


# -- compilers


def hip(*options: str, name: str = "app") -> Path:
    """HIP_SOURCE built by the real hipcc. No GPU is needed for that."""
    if HIPCC is None:
        pytest.skip("hipcc is not installed")
    return compiled(name, "source.hip", HIP_SOURCE, HIPCC, *options, env={"HIP_PLATFORM": "amd"})


def bare(target: str) -> Path:
    """BARE_SOURCE built by clang, for any target it knows."""
    clang = shutil.which("clang") or shutil.which("clang-15")
    if clang is None:
        pytest.skip("clang is not installed")
    options = ("-x", "cl", "-cl-std=CL2.0", "-target", "amdgcn-amd-amdhsa", f"-mcpu={target}", "-nogpulib", "-O2")
    return compiled(f"{target}.hsaco", "source.cl", BARE_SOURCE, clang, *options)


def cuda(*options: str, name: str = "app") -> Path:
    """CUDA_SOURCE built by the real nvcc."""
    if NVCC is None:
        pytest.skip("nvcc is not installed")
    return compiled(name, "source.cu", CUDA_SOURCE, NVCC, *options)


# -- by hand


def pack(value: object) -> bytes:
    """MessagePack, the plainest form of everything."""
    if value is None or isinstance(value, bool):
        return b"\xc0" if value is None else b"\xc3" if value else b"\xc2"
    if isinstance(value, int):
        return b"\xcf" + struct.pack(">Q", value) if value >= 0 else b"\xd3" + struct.pack(">q", value)
    if isinstance(value, str):
        return b"\xdb" + struct.pack(">I", len(value.encode())) + value.encode()
    if isinstance(value, list):
        return b"\xdd" + struct.pack(">I", len(value)) + b"".join(map(pack, value))
    assert isinstance(value, dict)
    return b"\xdf" + struct.pack(">I", len(value)) + b"".join(pack(k) + pack(v) for k, v in value.items())


def kernel(name: str = "_Z5scalePfi", **numbers: int) -> dict[str, object]:
    """The metadata of a kernel with two arguments and two that the runtime passes."""
    spelled = {f".{key}": value for key, value in numbers.items()}
    arguments = [
        {".offset": 0, ".size": 8, ".value_kind": "global_buffer", ".address_space": "global", ".is_const": True},
        {".offset": 8, ".size": 4, ".value_kind": "by_value", ".type_name": "size_type", ".name": "n"},
        {".offset": 16, ".size": 4, ".value_kind": "hidden_block_count_x"},
    ]
    return {
        ".name": name,
        ".symbol": f"{name}.kd",
        ".args": arguments,
        ".vgpr_count": 9,
        ".wavefront_size": 64,
    } | spelled


def metadata(kernels: Sequence[object], target: str = "gfx90a") -> bytes:
    return pack(
        {"amdhsa.version": [1, 2], "amdhsa.target": f"amdgcn-amd-amdhsa--{target}", "amdhsa.kernels": list(kernels)}
    )


def note(content: bytes) -> bytes:
    head = struct.pack("<III", 7, len(content), 32)
    return head + b"AMDGPU\0\0" + content + b"\0" * (-len(content) % 4)


def code_object(content: bytes | None = None) -> bytes:
    """A code object that has nothing but its metadata."""
    made = bytearray(
        elf([Section(".note", NOTE, note(metadata([kernel()]) if content is None else content))], kind=3, abi=64)
    )
    made[8] = 2
    struct.pack_into("<H", made, 18, AMDGPU)
    return bytes(made)


def cubin(symbol: str = "_Z5scalePfi", *words: int, abi: int = 0x41) -> bytes:
    """A cubin for sm_90 with one kernel, as ptxas lays it out."""
    names = b"\0" + symbol.encode() + b"\0"
    symbols = bytes(24) + struct.pack("<IBBHQQ", 1, 0x12, 0, 4, 0, 16 * len(words))
    whole = _attribute(0x2F, 1, 12) + _attribute(0x12, 1, 64)
    own = b"".join(_attribute(0x17, 0, *place) for place in ((1 | 8 << 16, 4 << 18), (0, 8 << 18)))
    own += struct.pack("<BBH", 3, 0x19, 12) + _attribute(0x05, 64, 1, 1)
    text = b"".join(one.to_bytes(16, "little") for one in words)
    made = bytearray(elf([
        Section(".strtab", 3, names), Section(".symtab", 2, symbols, link=1, entsize=24), Section(".nv.info", 0x70000000, whole),
        Section(f".text.{symbol}", 1, text, flags=6), Section(f".nv.info.{symbol}", 0x70000000, own),
        Section(f".nv.shared.{symbol}", 1, bytes(1024 + 256)),
    ], kind=2, abi=abi))  # fmt: skip
    made[8] = 8
    struct.pack_into("<I", made, 48, 90 << 8 | 4)
    return bytes(made)


def _attribute(number: int, *values: int) -> bytes:
    return struct.pack(f"<BBH{len(values)}I", 4, number, 4 * len(values), *values)


def bundle(parts: Sequence[tuple[str, bytes]]) -> bytes:
    """A plain offload bundle."""
    names = [
        ("host-x86_64-unknown-linux", b""),
        *((f"hipv4-amdgcn-amd-amdhsa--{target}", data) for target, data in parts),
    ]
    head, body = b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", len(names)), b""
    start = len(head) + sum(24 + len(name) for name, _ in names)
    for name, data in names:
        head += struct.pack("<QQQ", start + len(body), len(data), len(name)) + name.encode()
        body += data
    return head + body


def packed(data: bytes, version: int, method: int = 0, content: bytes | None = None) -> bytes:
    """The same, compressed; `content` in place of what zlib makes of it."""
    inner = zlib.compress(data) if content is None else content
    wide = version == 3
    size = struct.calcsize("<4sHH") + (24 if wide else 16 if version == 2 else 12) + len(inner)
    sizes = struct.pack("<QQ" if wide else "<II", size, len(data)) if version > 1 else struct.pack("<I", len(data))
    return b"CCOB" + struct.pack("<HH", version, method) + sizes + b"\0" * 8 + inner
