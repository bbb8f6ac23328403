"""Prints everything that a program can ask about its programs, kernels and results."""

import re
import sys

import numpy as np
import pyopencl as cl

SOURCE = """
#define HALF(x) ((x) * 0.5f)
struct pair { float a; int b; };
float helper(__global const float *p, int i) { return HALF(p[i]); }
__kernel void first(__global float *out, __global const float *in, __local float *tmp, struct pair s, int n)
{
    int i = get_global_id(0), l = get_local_id(0);
    tmp[l] = i < n ? helper(in, i) + s.a : 0.0f;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (i < n) out[i] = tmp[get_local_size(0) - 1 - l] * s.b;
}
__kernel void second(__global int *count, __global const uchar *bytes, const uint n)
{
    for (uint i = get_global_id(0); i < n; i += get_global_size(0))
        atomic_add(&count[bytes[i] & 7], 1);
}
"""
WRONG = "__kernel void broken(__global int *a)\n{\n  a[0] = undeclared;\n}\n"


def show(*words: object) -> None:
    print(*words, flush=True)


device = cl.get_platforms()[0].get_devices()[0]
context = cl.Context([device])
queue = cl.CommandQueue(context, properties=cl.command_queue_properties.PROFILING_ENABLE)
raw = cl._cl._Program(context, SOURCE.encode())
raw._build(b"-cl-kernel-arg-info -DX=1", [device])
show(
    raw.get_info(cl.program_info.SOURCE) == SOURCE,
    raw.get_info(cl.program_info.KERNEL_NAMES),
    raw.get_info(cl.program_info.NUM_KERNELS),
)
show(
    raw.get_build_info(device, cl.program_build_info.OPTIONS), raw.get_build_info(device, cl.program_build_info.STATUS)
)
for name in ("first", "second"):
    kernel = cl._cl.Kernel(raw, name)
    show(name, kernel.get_info(cl.kernel_info.NUM_ARGS), kernel.get_info(cl.kernel_info.REFERENCE_COUNT))
    for index in range(kernel.get_info(cl.kernel_info.NUM_ARGS)):
        show(
            index,
            kernel.get_arg_info(index, cl.kernel_arg_info.NAME),
            kernel.get_arg_info(index, cl.kernel_arg_info.TYPE_NAME),
        )
    what = cl.kernel_work_group_info
    show(
        *(
            kernel.get_work_group_info(one, device)
            for one in (what.WORK_GROUP_SIZE, what.LOCAL_MEM_SIZE, what.COMPILE_WORK_GROUP_SIZE)
        )
    )
n = 1000
rng = np.random.default_rng(1)
data = rng.random(n, np.float32)
flags = cl.mem_flags
source = cl.Buffer(context, flags.READ_ONLY | flags.COPY_HOST_PTR, hostbuf=data)
target = cl.Buffer(context, flags.WRITE_ONLY, n * 4)
first = cl._cl.Kernel(raw, "first")
pair = np.array([(0.25, 3)], dtype=[("a", "f4"), ("b", "i4")])
for index, value in enumerate((target, source, cl.LocalMemory(64 * 4), pair[0], np.int32(n))):
    first.set_arg(index, value)
event = cl.enqueue_nd_range_kernel(queue, first, (1024,), (64,))
out = np.empty(n, np.float32)
cl.enqueue_copy(queue, out, target)
show(out.tobytes().hex()[:200], float(out.sum()), event.command_type == cl.command_type.NDRANGE_KERNEL)
part = source.get_sub_region(256, 512)
try:
    first.set_arg(9, part)
except cl.Error as error:
    show(error.code)
count = cl.Buffer(context, flags.READ_WRITE | flags.COPY_HOST_PTR, hostbuf=np.zeros(8, np.int32))
values = rng.integers(0, 255, 5000, np.uint8)
second = cl._cl.Kernel(raw, "second")
byte_buffer = cl.Buffer(context, flags.COPY_HOST_PTR, hostbuf=values)
for index, value in enumerate((count, byte_buffer, np.uint32(5000))):
    second.set_arg(index, value)
for _ in range(3):
    cl.enqueue_nd_range_kernel(queue, second, (64,), None)
totals = np.empty(8, np.int32)
cl.enqueue_copy(queue, totals, count)
show(totals.tolist())
try:
    wrong = cl._cl._Program(context, WRONG.encode())
    wrong._build(b"", [device])
except cl.Error:
    log = wrong.get_build_info(device, cl.program_build_info.LOG)
    # line, column and words; what comes before is the name of a temporary file, or the number of the program in the process
    show([re.findall(r"(\d+:\d+): ", line)[-1:] for line in log.splitlines() if "undeclared" in line][:1])
sys.exit(3)
