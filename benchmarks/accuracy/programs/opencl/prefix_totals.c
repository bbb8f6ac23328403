//: class = "A1"
//: cause = ["out-of-bounds-access", "write-into-bystander"]
//: kernel = "block_totals"
//: launch = 2
//: argument = 1
//: plain = "silent"
//: fault = "The last group writes its total one slot behind the end of the buffer."
#include "start.h"

static const char *source =
    "__kernel void ones(__global int *x) { x[get_global_id(0)] = 1; }\n"
    "__kernel void block_totals(__global const int *x, __global int *totals, int per_group)\n"
    "{\n"
    "    if (get_local_id(0)) return;\n"
    "    int sum = 0, g = get_group_id(0);\n"
    "    for (int i = 0; i < per_group; ++i) sum += x[g * per_group + i];\n"
#ifdef TWIN
    "    if (g + 1 < get_num_groups(0))\n"
#endif
    "    totals[g + 1] = sum;\n" // FAULT
    "}\n";

int main(void)
{
    Gpu gpu = start(0);
    cl_program program = build(gpu, source);
    cl_kernel ones = clCreateKernel(program, "ones", NULL), totals = clCreateKernel(program, "block_totals", NULL);
    int per_group = 32, zero = 0, host[32];
    size_t n = 1024, local = 32;
    cl_mem x = buffer(gpu, n * sizeof(int)), sums = buffer(gpu, sizeof host);
    clEnqueueFillBuffer(gpu.queue, sums, &zero, sizeof zero, 0, sizeof host, 0, NULL, NULL);
    clSetKernelArg(ones, 0, sizeof x, &x);
    clSetKernelArg(totals, 0, sizeof x, &x);
    clSetKernelArg(totals, 1, sizeof sums, &sums);
    clSetKernelArg(totals, 2, sizeof per_group, &per_group);
    must(clEnqueueNDRangeKernel(gpu.queue, ones, 1, NULL, &n, &local, 0, NULL, NULL), "ones");
    must(clEnqueueNDRangeKernel(gpu.queue, totals, 1, NULL, &n, &local, 0, NULL, NULL), "totals");
    must(clEnqueueReadBuffer(gpu.queue, sums, CL_TRUE, 0, sizeof host, host, 0, NULL, NULL), "read");
    printf("%d %d\n", host[0], host[31]);
    return host[31] == 32 ? 0 : 1;
}
