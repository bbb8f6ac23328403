/* Two rounds in one out-of-order queue: `make` fills a buffer, `use` reads it, and the second round fills the same buffer again.
 *   write too early   the second `make` waits for nothing
 *   read too early    no `use` waits for its `make`
 *   halves            each round works on its own half, which a number says
 * "right": each command waits for the one before it. */
#include "common.h"

static const char text[] =
    "kernel void make(global uint *to, uint seed) { uint i = get_global_id(0), v = seed; v = v * 3u + 1u; to[i] = v + i; }\n"
    "kernel void use(global const uint *from, global uint *to) { uint i = get_global_id(0); to[i] = from[i] * 2u; }\n"
    "kernel void make_half(global uint *to, uint first) { to[first + get_global_id(0)] = first; }\n"
    "kernel void use_half(global const uint *from, global uint *to, uint first) {\n"
    "    to[get_global_id(0)] = from[first + get_global_id(0)];\n"
    "}\n";

static cl_event put(cl_kernel kernel, size_t count, cl_event after)
{
    cl_event done;
    check(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &count, NULL, after != NULL, after ? &after : NULL, &done), "clEnqueueNDRangeKernel");
    return done;
}

int main(int argc, char **argv)
{
    open_device(argc, argv);
    cl_int status;
    clReleaseCommandQueue(queue);
    queue = clCreateCommandQueue(context, device, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &status);
    check(status, "clCreateCommandQueue");
    program = build(text);
    int halves = is("halves");
    cl_kernel make = make_kernel(halves ? "make_half" : "make"), use = make_kernel(halves ? "use_half" : "use");
    cl_mem shared = make_buffer(BYTES), out[2] = {make_buffer(BYTES), make_buffer(BYTES)};
    size_t count = halves ? COUNT / 2 : COUNT;
    cl_event used = NULL, made;
    for (int round = 0; round < 2; round++) {
        set_mem(make, 0, shared);
        set_int(make, 1, round * COUNT / 2);
        made = put(make, count, halves || is("write too early") ? NULL : used);
        set_mem(use, 0, shared);
        set_mem(use, 1, out[round]);
        if (halves)
            set_int(use, 2, round * COUNT / 2);
        used = put(use, count, is("read too early") ? NULL : made);
    }
    check(clFinish(queue), "clFinish");
    return 0;
}
