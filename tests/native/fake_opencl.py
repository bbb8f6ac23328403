"""A libOpenCL made from schema/opencl.toml whose functions succeed, hand out handles, and do nothing.

A program that defines `void fake_driver(const char *call)` is called back from inside every call, which is where
drivers fork, crash and call back in real life. One that defines `int fake_status(void)` has its calls refused with that
status. Every call leaves FAKE_ERRNO in errno (queries one more), so that a change shows.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

from opencl_header import prototype  # noqa: E402
from schema_model import HANDLES, Call, load_calls  # noqa: E402

FAKE_ERRNO = 77

HEAD = f"""
#include <CL/cl.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
enum {{ FAKE_ERRNO = {FAKE_ERRNO} }};

__attribute__((weak)) void fake_driver(const char *call);
__attribute__((weak)) int fake_status(void);

static void enter(const char *call)
{{
    if (fake_driver)
        fake_driver(call);
    errno = FAKE_ERRNO + !strncmp(call, "clGet", 5);
}}

/* Handles that nobody can follow, all different. */
static void *handle(void)
{{
    static size_t made;
    return (void *)(0x100000 + 0x40 * __atomic_add_fetch(&made, 1, __ATOMIC_RELAXED));
}}

static char *last_options;

enum {{ LOG_BYTES = 100000 }};
static const char *long_log(void)
{{
    static char log[LOG_BYTES];
    memset(log, 'e', sizeof log - 1);
    return log;
}}

static cl_int answer(const void *data, size_t bytes, size_t room, void *value, size_t *value_size)
{{
    if (value && room < bytes)
        return CL_INVALID_VALUE;
    if (value)
        memcpy(value, data, bytes);
    if (value_size)
        *value_size = bytes;
    return CL_SUCCESS;
}}
"""

LARGEST = 1 << 20  # bytes of a buffer

# Bodies of the functions whose answers the recorder or a program uses.
BODIES = {
    "clGetPlatformIDs": """
    if (platforms && num_entries) platforms[0] = (cl_platform_id)0x51000;
    if (num_platforms) *num_platforms = 1;
    return CL_SUCCESS;""",
    "clGetDeviceIDs": """
    (void)platform, (void)device_type;
    if (devices && num_entries) devices[0] = (cl_device_id)0x52000;
    if (num_devices) *num_devices = 1;
    return CL_SUCCESS;""",
    "clGetContextInfo": """
    void *device = (void *)0x52000;
    (void)context, (void)what;
    return answer(&device, sizeof device, room, value, value_size);""",
    "clGetProgramInfo": """
    void *device = (void *)0x52000;
    (void)program, (void)what;
    return answer(&device, sizeof device, room, value, value_size);""",
    "clGetDeviceInfo": """
    cl_ulong number = 64;
    (void)device;
    if (what == CL_DEVICE_NAME || what == CL_DRIVER_VERSION || what == CL_DEVICE_VERSION)
        return answer("OpenCL 1.2 fake", 16, room, value, value_size);
    return answer(&number, sizeof number, room, value, value_size);""",
    "clGetKernelInfo": """
    cl_ulong number = 2;
    (void)kernel;
    if (what == CL_KERNEL_FUNCTION_NAME)
        return answer("fake_kernel", 12, room, value, value_size);
    return answer(&number, what == CL_KERNEL_NUM_ARGS ? 4 : 8, room, value, value_size);""",
    "clBuildProgram": """
    (void)program, (void)num_devices, (void)devices, (void)notify, (void)user_data;
    free(last_options);
    last_options = strdup(options ? options : "");
    if (strstr(last_options, "-fail")) return CL_BUILD_PROGRAM_FAILURE;
    return strstr(last_options, "-strict") && strstr(last_options, "arg-info") ? CL_INVALID_BUILD_OPTIONS : CL_SUCCESS;""",
    "clGetProgramBuildInfo": """
    cl_ulong number = 0;
    (void)program, (void)device;
    if (what == CL_PROGRAM_BUILD_OPTIONS)
        return answer(last_options, strlen(last_options) + 1, room, value, value_size);
    if (what == CL_PROGRAM_BUILD_LOG)
        return answer(long_log(), LOG_BYTES, room, value, value_size);
    return answer(&number, 4, room, value, value_size);""",
    "clGetKernelArgInfo": """
    cl_ulong number = CL_KERNEL_ARG_ADDRESS_GLOBAL;
    (void)kernel, (void)index;
    if (what == CL_KERNEL_ARG_TYPE_NAME || what == CL_KERNEL_ARG_NAME)
        return answer("int*", 5, room, value, value_size);
    return answer(&number, 4, room, value, value_size);""",
    "clCreateBuffer": f"""
    cl_int status = fake_status ? fake_status() : size > {LARGEST} ? CL_INVALID_BUFFER_SIZE : CL_SUCCESS;
    (void)context, (void)flags, (void)host_ptr;
    if (errcode) *errcode = status;
    return status ? NULL : handle();""",
    "clGetEventInfo": """
    cl_int state = CL_COMPLETE;
    (void)event, (void)what;
    return answer(&state, sizeof state, room, value, value_size);""",
    "clCreateKernelsInProgram": """
    (void)program;
    if (kernels && num_kernels) kernels[0] = handle();
    if (num_kernels_ret) *num_kernels_ret = 1;
    return CL_SUCCESS;""",
}


def opencl_calls() -> list[Call]:
    """Every OpenCL entry that is recorded, in table order."""
    events, opencl = (_toml(name) for name in ("events", "opencl"))
    return [call for call in load_calls(events, opencl) if call.api == "opencl" and not call.skip]


def _toml(name: str) -> dict[str, Any]:
    return tomllib.loads((ROOT / "schema" / f"{name}.toml").read_text())


def _refusal(call: Call) -> list[str]:
    if call.has_errcode:
        return ["if (fake_status) {", "    if (errcode) *errcode = fake_status();", "    return 0;", "}"]
    return ["if (fake_status) return fake_status();"] if call.returns == "cl_int" else []


def _default_body(call: Call) -> str:
    lines = [f"(void){p.name};" for p in call.params]
    lines += _refusal(call)
    lines += ["if (event) *event = handle();" for p in call.params if call.is_out_event(p)]
    lines += ["if (errcode) *errcode = CL_SUCCESS;"] if call.has_errcode else []
    if call.returns in HANDLES or call.returns.endswith("*"):
        lines.append("return handle();")
    elif call.returns != "void":
        lines.append("return 0;")
    return "\n    ".join(["", *lines])


def fake_library() -> str:
    """The C source of the library."""
    parts = [HEAD]
    for call in opencl_calls():
        body = BODIES.get(call.name) or _default_body(call)
        parts.append(f'EXPORT {prototype(call, call.name)}\n{{\n    enter("{call.name}");{body}\n}}\n')
    return "\n".join(parts)
