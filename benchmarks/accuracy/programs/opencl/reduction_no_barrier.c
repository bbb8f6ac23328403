//: class = "C1"
//: cause = ["race-in-kernel"]
//: kernel = "group_sum"
//: launch = 1
//: argument = 2
//: plain = "exit"
//: fault = "There is no barrier between the levels of the reduction."
#include "start.h"

static const char *source =
    "__kernel void group_sum(__global const int *x, __global int *sums, __local int *s)\n"
    "{\n"
    "    int l = get_local_id(0);\n"
    "    s[l] = x[get_global_id(0)];\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    for (int d = get_local_size(0) / 2; d > 0; d /= 2) {\n"
    "        if (l < d) s[l] += s[l + d];\n"
#ifdef TWIN
    "        barrier(CLK_LOCAL_MEM_FENCE);\n"
#endif
    "    }\n" // FAULT
    "    if (l == 0) sums[get_group_id(0)] = s[0];\n"
    "}\n";

int main(void)
{
    Gpu gpu = start(0);
    cl_kernel kernel = clCreateKernel(build(gpu, source), "group_sum", NULL);
    enum { N = 8192, LOCAL = 128 };
    int sums[N / LOCAL], total = 0, one = 1;
    size_t global = N, local = LOCAL;
    cl_mem x = buffer(gpu, N * sizeof(int)), out = buffer(gpu, sizeof sums);
    must(clEnqueueFillBuffer(gpu.queue, x, &one, sizeof one, 0, N * sizeof(int), 0, NULL, NULL), "fill");
    must(clSetKernelArg(kernel, 0, sizeof x, &x), "x");
    must(clSetKernelArg(kernel, 1, sizeof out, &out), "sums");
    must(clSetKernelArg(kernel, 2, LOCAL * sizeof(int), NULL), "scratch");
    must(clEnqueueNDRangeKernel(gpu.queue, kernel, 1, NULL, &global, &local, 0, NULL, NULL), "group_sum");
    must(clEnqueueReadBuffer(gpu.queue, out, CL_TRUE, 0, sizeof sums, sums, 0, NULL, NULL), "read");
    for (int i = 0; i < N / LOCAL; ++i) total += sums[i];
    printf("%d\n", total);
    return total == N ? 0 : 1;
}
