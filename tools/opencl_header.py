"""C declarations of OpenCL made from schema/opencl.toml: ours, so that nothing of a vendor's is copied or needed."""

from __future__ import annotations

import re
from typing import Any

from schema_model import HANDLES, Call

SCALARS = """
typedef int8_t cl_char; typedef uint8_t cl_uchar; typedef int16_t cl_short; typedef uint16_t cl_ushort;
typedef int32_t cl_int; typedef uint32_t cl_uint; typedef int64_t cl_long; typedef uint64_t cl_ulong;
typedef uint16_t cl_half; typedef float cl_float; typedef double cl_double; typedef cl_uint cl_bool;
typedef cl_uint cl_GLuint; typedef cl_int cl_GLint; typedef cl_uint cl_GLenum;
typedef struct gdx_gl_sync *cl_GLsync;
typedef void *CLeglImageKHR; typedef void *CLeglDisplayKHR; typedef void *CLeglSyncKHR;
typedef struct { cl_uint image_channel_order, image_channel_data_type; } cl_image_format;
typedef struct {
    cl_uint image_type;
    size_t image_width, image_height, image_depth, image_array_size, image_row_pitch, image_slice_pitch;
    cl_uint num_mip_levels, num_samples;
    union { struct gdx_cl_mem *buffer, *mem_object; };
} cl_image_desc;
typedef struct { size_t origin, size; } cl_buffer_region;
"""
# Khronos specification, "Scalar data types" and the flag types of each section: bit fields are 64 bits wide,
# property lists are pointers' width, all other enumerations 32 bits.
BITFIELDS = (
    "cl_bitfield cl_device_type cl_command_queue_properties cl_mem_flags cl_svm_mem_flags cl_map_flags "
    "cl_mem_migration_flags cl_queue_properties cl_sampler_properties cl_mem_properties"
).split()
POINTER_WIDE = (
    "cl_context_properties cl_device_partition_property cl_pipe_properties cl_egl_image_properties_khr"
).split()


def used_types(calls: list[Call]) -> set[str]:
    text = " ".join([c.returns for c in calls] + [p.type for c in calls for p in c.params])
    return set(re.findall(r"\bcl_\w+", text))


def type_lines(calls: list[Call]) -> list[str]:
    declared = set(re.findall(r"\b(cl_\w+|CLegl\w+)(?=;| cl_)", SCALARS)) | set(re.findall(r"\} (cl_\w+);", SCALARS))
    lines = [f"typedef struct gdx_{name} *{name};" for name in HANDLES]
    lines += [SCALARS]
    lines += [f"typedef uint64_t {name};" for name in BITFIELDS]
    lines += [f"typedef intptr_t {name};" for name in POINTER_WIDE]
    lines += ["typedef cl_ulong cl_device_partition_property_ext;"]
    lines += [
        "typedef void (*cl_context_callback)(const char *, const void *, size_t, void *);",
        "typedef void (*cl_program_callback)(cl_program, void *);",
        "typedef void (*cl_context_release_callback)(cl_context, void *);",
        "typedef void (*cl_event_callback)(cl_event, cl_int, void *);",
        "typedef void (*cl_mem_callback)(cl_mem, void *);",
        "typedef void (*cl_svm_free_callback)(cl_command_queue, cl_uint, void **, void *);",
        "typedef void (*cl_native_kernel)(void *);",
    ]
    known = declared | set(HANDLES) | set(BITFIELDS) | set(POINTER_WIDE) | {"cl_device_partition_property_ext"}
    rest = sorted(t for t in used_types(calls) if t not in known and not t.endswith(("_callback", "_native_kernel")))
    return lines + [f"typedef cl_uint {name};" for name in rest]


def prototype(call: Call, name: str) -> str:
    params = ", ".join(p.declaration for p in call.params) or "void"
    return f"{call.returns} {name}({params})"


def constant_lines(opencl: dict[str, Any]) -> list[str]:
    return [f"#define {k} {v if v >= 0 else f'({v})'}" for k, v in (opencl["errors"] | opencl["constants"]).items()]


def preamble(opencl: dict[str, Any], calls: list[Call]) -> str:
    head = "/* Made by tools/generate.py from schema/opencl.toml. Edit that. */\n#pragma once\n"
    includes = "#include <stddef.h>\n#include <stdint.h>\n"
    return head + includes + "\n".join([*type_lines(calls), *constant_lines(opencl)]) + "\n"


def opencl_calls(calls: list[Call]) -> list[Call]:
    return [c for c in calls if c.api == "opencl"]


def abi_header(opencl: dict[str, Any], calls: list[Call]) -> str:
    """Types, constants and the dispatch table, for the hooks."""
    own = opencl_calls(calls)
    rows = []
    for call in own:
        rows.append(f"    void *{call.name};" if call.skip else "    " + prototype(call, f"(*{call.name})") + ";")
    table = "struct cl_dispatch {\n" + "\n".join(rows) + "\n};\n"
    count = f"#define CL_DISPATCH_ENTRIES {len(own)}\n"
    hands = "".join(prototype(c, "rec_" + c.name) + ";\n" for c in own if c.by_hand)
    hands += "".join(prototype(c, f"gdx_cl_{c.through}_{c.name}") + ";\n" for c in own if c.through)
    return preamble(opencl, own) + table + count + hands + "extern struct cl_dispatch gdx_cl_next;\n"


def public_header(opencl: dict[str, Any], calls: list[Call]) -> str:
    """A header a program can be built with where <CL/cl.h> is not installed."""
    own = [c for c in opencl_calls(calls) if not c.skip]
    return preamble(opencl, own) + "\n".join(prototype(c, c.name) + ";" for c in own) + "\n"
