"""A capsule as one C file that needs nothing of gpudx: cc repro.c -lOpenCL."""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np

from gpudx.backends.opencl.player import ACCESS_FLAGS, READ_WRITE, safe_options
from gpudx.capsule.as_c import HELPERS, c_type, comment, literal, nonfinite, repeated, tables
from gpudx.capsule.compare import element_type
from gpudx.capsule.model import Argument, Capsule
from gpudx.errors import UserError

HEAD = """\
/* {title}
 *
 * Build and run:  cc {name} -o repro -lOpenCL -lm && ./repro [DEVICE]
 * DEVICE: a part of the name of a platform or device; without it the first device is used.
 *
{says} */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(call) do {{ cl_int s_ = (call); if (s_) {{ fprintf(stderr, "%s: %d\\n", #call, s_); exit(2); }} }} while (0)

static const char source[] =
{source};
static const char options[] = {options};

"""
FIND = """\
static cl_device_id find_device(const char *wanted)
{
    cl_platform_id platforms[32];
    cl_uint count = 0;
    CHECK(clGetPlatformIDs(32, platforms, &count));
    for (cl_uint p = 0; p < count; p++) {
        cl_device_id devices[32];
        cl_uint found = 0;
        if (clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, 32, devices, &found))
            continue;
        for (cl_uint d = 0; d < found; d++) {
            char text[2048] = "", *behind;
            clGetPlatformInfo(platforms[p], CL_PLATFORM_NAME, 1000, text, NULL);
            behind = text + strlen(text);
            *behind++ = ' ';
            clGetDeviceInfo(devices[d], CL_DEVICE_NAME, 1000, behind, NULL);
            if (wanted && !strstr(text, wanted))
                continue;
            printf("device: %s\\n", text);
            return devices[d];
        }
    }
    fprintf(stderr, "no such OpenCL device\\n");
    exit(2);
}

"""
def c_source(capsule: Capsule, name: str, says: tuple[str, ...]) -> str:
    """The file. UserError where a capsule has what C source cannot hold."""
    code = capsule.code("source")
    if code is None:
        raise UserError("The capsule has no OpenCL source: a reproducer in C needs it.")
    if any(one.svm for one in capsule.buffers):
        raise UserError(
            "The launch uses shared virtual memory, which the C reproducer does not support: give the capsule itself."
        )
    body = "".join(_main(capsule))
    head = HEAD.format(
        title=comment(
            f"{capsule.kernel}: made by {capsule.made_by or 'gpudx'} from one launch on {capsule.device.title}"
        ),
        name=name,
        says="".join(f" * {comment(one)}\n" for one in says),
        source=literal(code.data.decode(errors="replace")),
        options=json.dumps(safe_options(capsule.options)[0]),
    )
    return head + tables(capsule) + FIND + HELPERS + nonfinite(capsule) + body


def _main(capsule: Capsule) -> Iterator[str]:
    shape = capsule.geometry
    yield "int main(int argc, char **argv)\n{\n    cl_int status;\n    cl_device_id device = find_device(argc > 1 ? argv[1] : NULL);\n"
    yield "    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);\n    CHECK(status);\n"
    yield "    cl_command_queue queue = clCreateCommandQueue(context, device, 0, &status);\n    CHECK(status);\n"
    yield "    const char *text = source;\n"
    yield "    cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, &status);\n    CHECK(status);\n"
    yield "    CHECK(clBuildProgram(program, 1, &device, options, NULL, NULL));\n"
    yield f"    cl_kernel kernel = clCreateKernel(program, {json.dumps(capsule.kernel)}, &status);\n    CHECK(status);\n\n"
    for one in capsule.buffers:
        yield from _buffer(capsule, one.number)
    for argument in capsule.arguments:
        yield from _argument(argument)
    dims = len(shape.global_)
    yield f"\n    const size_t global[] = {{ {', '.join(map(str, shape.global_))} }};\n"
    if shape.local:
        yield f"    const size_t local[] = {{ {', '.join(map(str, shape.local))} }};\n"
    if shape.offset:
        yield f"    const size_t offset[] = {{ {', '.join(map(str, shape.offset))} }};\n"
    given = f"{'offset' if shape.offset else 'NULL'}, global, {'local' if shape.local else 'NULL'}"
    yield f'    printf("launching {capsule.kernel}\\n");\n    fflush(stdout);\n'
    yield f"    CHECK(clEnqueueNDRangeKernel(queue, kernel, {dims}, {given}, 0, NULL, NULL));\n    CHECK(clFinish(queue));\n"
    yield "\n    int bad = 0;\n"
    for one in capsule.buffers:
        if one.parent is None:
            at, title = one.number, json.dumps(capsule.title_of(one.number))
            yield f"    CHECK(clEnqueueReadBuffer(queue, whole_{at}, CL_TRUE, 0, {one.size} + GUARD, host_{at}, 0, NULL, NULL));\n"
            yield f"    show({title}, host_{at}, {one.size});\n"
            kind = c_type(capsule, at)
            yield f"    bad |= show_{kind}(host_{at}, {one.size});\n" if kind else ""
            yield f'    printf("\\n");\n    bad |= damaged({title}, host_{at}, {one.size});\n'
    yield "    return bad;\n}\n"


def _buffer(capsule: Capsule, number: int) -> Iterator[str]:
    """A part of a buffer that has a pattern behind its end; a part of the program's own is a part of that."""
    one = capsule.buffers[number]
    if one.parent is None:
        yield f"    unsigned char *host_{number} = calloc(1, {one.size} + GUARD);\n    memset(host_{number} + {one.size}, 0xa5, GUARD);\n"
        constant = repeated(one.before) if one.before is not None else b"\0"
        if constant is None:
            yield f"    memcpy(host_{number}, data_{number}, sizeof data_{number});\n"
        elif any(constant):
            values = ", ".join(map(str, constant))
            yield f"    fill(host_{number}, {one.size}, (const unsigned char[]){{ {values} }}, {len(constant)});\n"
        flags = "CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR"
        yield f"    cl_mem whole_{number} = clCreateBuffer(context, {flags}, {one.size} + GUARD, host_{number}, &status);\n"
        yield "    CHECK(status);\n"
    whole, offset = (number, 0) if one.parent is None else (one.parent, one.offset)
    kind = one.flags & ACCESS_FLAGS or READ_WRITE
    yield f"    cl_buffer_region region_{number} = {{ {offset}, {one.size} }};\n    cl_mem buffer_{number} = clCreateSubBuffer(\n"
    yield f"        whole_{whole}, {kind}, CL_BUFFER_CREATE_TYPE_REGION, &region_{number}, &status);\n    CHECK(status);\n"


def _argument(one: Argument) -> Iterator[str]:
    if one.kind == "buffer":
        yield f"    CHECK(clSetKernelArg(kernel, {one.index}, sizeof(cl_mem), &buffer_{one.buffer}));\n"
    elif one.kind == "local":
        yield f"    CHECK(clSetKernelArg(kernel, {one.index}, {one.size}, NULL));\n"
    elif one.kind == "null":
        yield f"    CHECK(clSetKernelArg(kernel, {one.index}, sizeof(cl_mem), &(cl_mem){{ NULL }}));\n"
    elif one.kind == "value":
        values = ", ".join(map(str, one.value))
        said = f"  /* {comment(one.title)}{_number(one)} */"
        yield f"    CHECK(clSetKernelArg(kernel, {one.index}, {len(one.value)}, (const unsigned char[]){{ {values} }}));{said}\n"


def _number(one: Argument) -> str:
    kind = element_type(one.type)
    return f" = {np.frombuffer(one.value, dtype=kind)[0]}" if one.type and kind.itemsize == len(one.value) else ""
