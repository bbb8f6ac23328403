"""C declarations of the CUDA driver API made from schema/cuda.toml: ours, so that no vendor header is needed to build.

Layouts of structures are facts of the driver's binary interface; a test compares every size with <cuda.h>.
"""

from __future__ import annotations

from typing import Any

from cuda_model import PER_THREAD, CudaCall, Types, asked
from schema_model import Call

# The structures that native/cuda looks into.
STRUCTURES = """
typedef struct { int type, id; } CUmemLocation;
typedef struct { CUmemLocation location; int flags; } CUmemAccessDesc;
typedef struct {
    int type, handle_types;
    CUmemLocation location;
    void *win32;
    unsigned char compression, rdma;
    unsigned short usage;
    unsigned char reserved[4];
} CUmemAllocationProp;
typedef struct { int type, handle_types; CUmemLocation location; long long rest[9]; } CUmemPoolProps;
typedef struct {
    CUfunction func;
    unsigned int grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes;
    void **params, **extra;
} CUDA_KERNEL_NODE_PARAMS_v1;
typedef struct {
    CUfunction func;
    unsigned int grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes;
    void **params, **extra;
    CUkernel kern;
    CUcontext context;
} CUDA_KERNEL_NODE_PARAMS;
typedef struct { unsigned int id, pad; unsigned char value[64]; } CUlaunchAttribute;
typedef struct {
    unsigned int grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes;
    CUstream queue;
    CUlaunchAttribute *attributes;
    unsigned int attribute_count;
} CUlaunchConfig;
/* One side of a structured copy; two-dimensional ones lack the members for depth. */
struct gdx_cu_side2 {
    size_t x, y;
    unsigned int type;
    const void *host;
    CUdeviceptr device;
    CUarray array;
    size_t pitch;
};
struct gdx_cu_side3 {
    size_t x, y, z, level;
    unsigned int type;
    const void *host;
    CUdeviceptr device;
    CUarray array;
    void *context;
    size_t pitch, height;
};
typedef struct { struct gdx_cu_side2 src, dst; size_t width, height; } CUDA_MEMCPY2D;
typedef struct { struct gdx_cu_side3 src, dst; size_t width, height, depth; } CUDA_MEMCPY3D;
typedef struct { struct gdx_cu_side3 src, dst; size_t width, height, depth; } CUDA_MEMCPY3D_PEER;
typedef struct {
    CUdeviceptr dst;
    size_t pitch;
    unsigned int value, element;
    size_t width, height;
} CUDA_MEMSET_NODE_PARAMS;
typedef struct {
    unsigned char pool[88];
    const void *access;
    size_t access_count, size;
    CUdeviceptr address;
} CUDA_MEM_ALLOC_NODE_PARAMS;
typedef struct { unsigned long long offset, size; unsigned int flags, reserved[16]; } CUDA_EXTERNAL_MEMORY_BUFFER_DESC;
typedef struct {
    int type, reserved[3];
    union { long long whole[29]; CUDA_KERNEL_NODE_PARAMS kernel; };
    long long end;
} CUgraphNodeParams;
"""


def type_lines(types: Types) -> list[str]:
    lines = [f"typedef {c} {name};" for name, c in types.scalars.items()]
    lines += [f"typedef struct gdx_{name} *{name};" for name in types.handles if name not in types.scalars]
    lines += [f"typedef unsigned int {name};" for name in types.enums]
    lines += [
        "typedef void (*CUhostFn)(void *);",
        "typedef void (*CUstreamCallback)(CUstream, CUresult, void *);",
        "typedef size_t (*CUoccupancyB2DSize)(int);",
        "typedef void (*CUasyncCallback)(void *, void *, CUasyncCallbackHandle);",
    ]
    lines += [f"typedef struct {{ unsigned char bytes[{size}]; }} {name};" for name, size in types.opaque.items()]
    return [*lines, STRUCTURES.strip()]


def parameters(call: Call) -> str:
    return ", ".join(p.declaration for p in call.params) or "void"


def prototype(call: Call, name: str) -> str:
    return f"CUresult {name}({parameters(call)})"


def preamble(cuda: dict[str, Any]) -> str:
    head = "/* Made by tools/generate.py from schema/cuda.toml. Edit that. */\n#pragma once\n"
    includes = "#include <stddef.h>\n#include <stdint.h>\n"
    constants = [f"#define {name} {value}" for name, value in (cuda["errors"] | cuda["constants"]).items()]
    return head + includes + "\n".join([*type_lines(Types.load(cuda)), *constants]) + "\n"


def cuda_calls(calls: list[Call]) -> list[CudaCall]:
    return [c for c in calls if isinstance(c, CudaCall)]


def entries(cuda: dict[str, Any], calls: list[Call]) -> list[tuple[str, CudaCall | None]]:
    """Every exported name with its prototype (None: only its address is of interest), in the order of strcmp."""
    rows: dict[str, CudaCall | None] = {c.name: None for c in cuda_calls(calls) if c.skip}
    rows |= {c.name: c for c in asked(cuda)}
    rows |= {name: c for c in cuda_calls(calls) if not c.skip for name in c.names}
    return sorted(rows.items())


def per_thread(name: str) -> bool:
    """Does the entry of this name use the calling thread's own default stream?"""
    return name.endswith(PER_THREAD)


def hook_lines(call: CudaCall) -> list[str]:
    """What native/cuda must define for this call."""
    lines = [prototype(call, "rec_" + name) + ";" for name in call.names] if call.by_hand else []
    if call.before:
        lines.append(f"void gdx_cu_before_{call.name}({parameters(call)});")
    if call.after:
        rest = f", {parameters(call)}" if call.params else ""
        lines.append(f"void gdx_cu_after_{call.name}(CUresult status{rest});")
    return lines


def abi_header(cuda: dict[str, Any], calls: list[Call]) -> str:
    """Types, constants and the table of the driver's functions, for the hooks."""
    names = entries(cuda, calls)
    table = [f"    {prototype(call, f'(*{name})') if call else f'void *{name}'};" for name, call in names]
    numbers = ",\n".join(f"    GDX_CU_{name}" for name, _ in names)
    hooks = [line for call in cuda_calls(calls) if not call.skip for line in hook_lines(call)]
    return "\n".join(
        [
            preamble(cuda),
            "/* The driver's own functions. The order is that of the names, so a number names a row here too. */",
            "struct gdx_cu_table {\n" + "\n".join(table) + "\n};",
            f"enum {{\n{numbers},\n    GDX_CU_NAMES\n}};",
            '_Static_assert(sizeof(struct gdx_cu_table) == GDX_CU_NAMES * sizeof(void *), "table");',
            "extern struct gdx_cu_table gdx_cu_driver;",
            "/* What wrappers call: the same, but where fences stand in front (native/cuda/fence.c). */",
            "extern struct gdx_cu_table gdx_cu_next;",
            *hooks,
            "",
        ]
    )


def public_header(cuda: dict[str, Any], calls: list[Call]) -> str:
    """A header a program can be built with where <cuda.h> is not installed."""
    declared = [(name, call) for name, call in entries(cuda, calls) if call]
    return preamble(cuda) + "\n".join(prototype(call, name) + ";" for name, call in declared) + "\n"
