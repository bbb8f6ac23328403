//: class = "C3"
//: cause = ["barrier-misuse", "hang", "race-in-kernel"]
//: kernel = "compact"
//: launch = 1
//: plain = "sometimes"
//: fault = "Only the work items with a positive value reach the barrier."
#include "start.h"

static const char *source =
    "__kernel void compact(__global const int *x, __global int *kept, __global int *count)\n"
    "{\n"
    "    __local int used;\n"
    "    int l = get_local_id(0), v = x[l], slot = -1;\n"
    "    if (l == 0) used = 0;\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    if (v > 0) {\n"
    "        slot = atomic_inc(&used);\n"
#ifdef TWIN
    "    }\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    if (v > 0) {\n"
#else
    "        barrier(CLK_LOCAL_MEM_FENCE);\n" // FAULT
#endif
    "        kept[slot] = v;\n"
    "        if (slot == 0) *count = used;\n"
    "    }\n"
    "}\n";

int main(void)
{
    Gpu gpu = start(0);
    cl_kernel kernel = clCreateKernel(build(gpu, source), "compact", NULL);
    int x[128], count = 0, expected = 0;
    for (int i = 0; i < 128; ++i) expected += (x[i] = i % 3 - 1) > 0;
    cl_mem in = buffer(gpu, sizeof x), kept = buffer(gpu, sizeof x), out = buffer(gpu, sizeof count);
    size_t n = 128;
    must(clEnqueueWriteBuffer(gpu.queue, in, CL_TRUE, 0, sizeof x, x, 0, NULL, NULL), "write");
    must(clSetKernelArg(kernel, 0, sizeof in, &in), "x");
    must(clSetKernelArg(kernel, 1, sizeof kept, &kept), "kept");
    must(clSetKernelArg(kernel, 2, sizeof out, &out), "count");
    must(clEnqueueNDRangeKernel(gpu.queue, kernel, 1, NULL, &n, &n, 0, NULL, NULL), "compact");
    must(clEnqueueReadBuffer(gpu.queue, out, CL_TRUE, 0, sizeof count, &count, 0, NULL, NULL), "read");
    printf("%d of %d\n", count, expected);
    return count == expected ? 0 : 1;
}
