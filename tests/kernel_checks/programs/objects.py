"""Memory that is no plain buffer: shared virtual memory, parts of buffers, images, copies into local memory, queues out of order,
several queues, variables of a program, kernels from binaries. Kernels whose name ends with _faulty have a fault, all others have none."""

from __future__ import annotations

import warnings

import numpy as np
import pyopencl as cl

SOURCE = """
__kernel void twice(__global const float *in, __global float *out) {
  int i = get_global_id(0);
  out[i] = in[i] * 2.0f;
}
__kernel void tail_faulty(__global const float *in, __global float *out) {
  int i = get_global_id(0);
  out[i] = in[i + 1] * 2.0f;
}
__kernel void shared_faulty(__global const float *in, __global float *out) {
  int i = get_global_id(0);
  out[i] = in[i + 1] * 2.0f;
}
__kernel void tile(__global const float *in, __global float *out, __local float *t) {
  event_t e = async_work_group_copy(t, in + get_group_id(0) * 16, 16, 0);
  wait_group_events(1, &e);
  out[get_global_id(0)] = t[15 - get_local_id(0)];
}
__kernel void tile_faulty(__global const float *in, __global float *out, __local float *t) {
  event_t e = async_work_group_copy(t, in + get_group_id(0) * 16, 17, 0);
  wait_group_events(1, &e);
  out[get_global_id(0)] = t[15 - get_local_id(0)];
}
__kernel void picture(read_only image2d_t from, __global float4 *out) {
  const sampler_t s = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;
  int x = get_global_id(0), y = get_global_id(1);
  out[y * 4 + x] = read_imagef(from, s, (int2)(x, y));
}
"""
KEPT = """
__global float table[16];
__kernel void change(__global float *out) { int i = get_global_id(0); table[i] = i; out[i] = 0.0f; }
__kernel void show(__global float *out, int step) { int i = get_global_id(0); out[i] = table[i * step % 16]; }
"""


def main() -> None:
    warnings.simplefilter("ignore")
    device = cl.get_platforms()[0].get_devices()[0]
    context = cl.Context([device])
    order = cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE
    queue = cl.CommandQueue(context, properties=order if device.queue_properties & order else 0)
    program = cl.Program(context, SOURCE).build()
    kernels = {one.function_name: one for one in program.all_kernels()}
    data = np.arange(64, dtype=np.float32)
    parts(context, queue, kernels, data)
    chained(context, queue, kernels, data)
    tiles(context, kernels, data)
    if device.image_support:
        picture(context, queue, kernels)
    if device.svm_capabilities & cl.device_svm_capabilities.COARSE_GRAIN_BUFFER:
        shared(context, kernels, data)
    features = {one.name.rstrip("\0") for one in device.opencl_c_features} if "OpenCL 3" in device.version else set()
    if "__opencl_c_program_scope_global_variables" in features:
        kept(context, queue)
    binary(context, device, program, data)


def parts(context, queue, kernels, data) -> None:  # type: ignore[no-untyped-def]
    """The second part begins where the first one ends: an index behind the first is still inside the whole."""
    step = max(context.devices[0].mem_base_addr_align // 8, 64)
    whole = cl.Buffer(context, cl.mem_flags.READ_WRITE, 2 * step)
    cl.enqueue_copy(queue, whole, np.ones(2 * step // 4, np.float32)).wait()
    first, out = whole.get_sub_region(0, 64), cl.Buffer(context, cl.mem_flags.READ_WRITE, 64)
    kernels["twice"](queue, (16,), None, first, out).wait()
    print("parts", read(queue, out, 16).sum())
    kernels["tail_faulty"](queue, (16,), None, first, out).wait()


def chained(context, queue, kernels, data) -> None:  # type: ignore[no-untyped-def]
    """Three launches, in an order that only events give, on two queues."""
    other = cl.CommandQueue(context)
    flags = cl.mem_flags.READ_WRITE
    buffers = [cl.Buffer(context, flags, data.nbytes) for _ in range(4)]
    event = cl.enqueue_copy(queue, buffers[0], data, is_blocking=False)
    for at, where in enumerate((queue, other, queue)):
        event = kernels["twice"](where, (64,), (16,), buffers[at], buffers[at + 1], wait_for=[event])
        where.flush()
    event.wait()
    print("chained", read(queue, buffers[3], 64).sum())


def tiles(context, kernels, data) -> None:  # type: ignore[no-untyped-def]
    queue = cl.CommandQueue(context)
    source = cl.Buffer(context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=data)
    out = cl.Buffer(context, cl.mem_flags.READ_WRITE, data.nbytes)
    kernels["tile"](queue, (64,), (16,), source, out, cl.LocalMemory(64))
    print("tiles", read(queue, out, 64)[::16])
    kernels["tile_faulty"](queue, (64,), (16,), source, out, cl.LocalMemory(64))
    queue.finish()


def picture(context, queue, kernels) -> None:  # type: ignore[no-untyped-def]
    form = cl.ImageFormat(cl.channel_order.RGBA, cl.channel_type.FLOAT)
    values = np.arange(64, dtype=np.float32).reshape(4, 4, 4)
    flags = cl.mem_flags.READ_ONLY | cl.mem_flags.COPY_HOST_PTR
    image = cl.create_image(context, flags, form, shape=(4, 4), hostbuf=values)
    out = cl.Buffer(context, cl.mem_flags.READ_WRITE, values.nbytes)
    kernels["picture"](queue, (4, 4), None, image, out).wait()
    print("picture", read(queue, out, 64).sum())


def shared(context, kernels, data) -> None:  # type: ignore[no-untyped-def]
    queue = cl.CommandQueue(context)
    memory = cl.SVM(cl.csvm_empty(context, 64, np.float32))
    out = cl.SVM(cl.csvm_empty(context, 64, np.float32))
    with memory.map_rw(queue) as host:
        host[:] = data
    kernels["twice"](queue, (64,), None, memory, out)
    kernels["shared_faulty"](queue, (64,), None, memory, out)
    queue.finish()
    with out.map_ro(queue) as host:
        print("shared", host[:63].sum())


def kept(context, queue) -> None:  # type: ignore[no-untyped-def]
    """A variable that one kernel changes and another one reads; the sizes prove the first one."""
    out = cl.Buffer(context, cl.mem_flags.READ_WRITE, 64)
    program = cl.Program(context, KEPT).build(["-cl-std=CL3.0"])
    program.change(queue, (16,), None, out).wait()
    program.show(queue, (16,), None, out, np.int32(1)).wait()
    print("kept", read(queue, out, 16).sum())


def binary(context, device, program, data) -> None:  # type: ignore[no-untyped-def]
    again = cl.Program(context, [device], program.get_info(cl.program_info.BINARIES)).build()
    queue = cl.CommandQueue(context)
    source = cl.Buffer(context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=data)
    out = cl.Buffer(context, cl.mem_flags.READ_WRITE, data.nbytes)
    again.twice(queue, (64,), None, source, out)
    print("binary", read(queue, out, 64).sum())


def read(queue, buffer, count):  # type: ignore[no-untyped-def]
    out = np.empty(count, np.float32)
    cl.enqueue_copy(queue, out, buffer)
    queue.finish()
    return out


if __name__ == "__main__":
    main()
