//: class = "A1"
//: cause = ["out-of-bounds-access"]
//: kernel = "group_max"
//: launch = 1
//: argument = 2
//: plain = "silent"
//: fault = "The local scratch is given for 64 work items, the groups have 128."
#include "start.h"

static const char *source =
    "__kernel void group_max(__global const int *x, __global int *best, __local int *scratch)\n"
    "{\n"
    "    int l = get_local_id(0);\n"
    "    scratch[l] = x[get_global_id(0)];\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    for (int step = get_local_size(0) / 2; step > 0; step /= 2) {\n"
    "        if (l < step) scratch[l] = max(scratch[l], scratch[l + step]);\n"
    "        barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    }\n"
    "    if (l == 0) best[get_group_id(0)] = scratch[0];\n"
    "}\n";

int main(void)
{
    Gpu gpu = start(CL_QUEUE_PROFILING_ENABLE);
    cl_kernel kernel = clCreateKernel(build(gpu, source), "group_max", NULL);
    enum { N = 1024, LOCAL = 128 };
    int x[N], best[N / LOCAL], most = 0;
    for (int i = 0; i < N; ++i) x[i] = i * 37 % 1023;
    cl_int status;
    cl_mem in = clCreateBuffer(gpu.context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, sizeof x, x, &status);
    must(status, "input");
    cl_mem out = buffer(gpu, sizeof best);
    size_t global = N, local = LOCAL;
    must(clSetKernelArg(kernel, 0, sizeof in, &in), "argument 0");
    must(clSetKernelArg(kernel, 1, sizeof out, &out), "argument 1");
#ifdef TWIN
    must(clSetKernelArg(kernel, 2, LOCAL * sizeof(int), NULL), "argument 2");
#else
    must(clSetKernelArg(kernel, 2, 64 * sizeof(int), NULL), "argument 2"); // FAULT
#endif
    must(clEnqueueNDRangeKernel(gpu.queue, kernel, 1, NULL, &global, &local, 0, NULL, NULL), "launch");
    must(clEnqueueReadBuffer(gpu.queue, out, CL_TRUE, 0, sizeof best, best, 0, NULL, NULL), "read");
    for (int i = 0; i < N / LOCAL; ++i) most = best[i] > most ? best[i] : most;
    printf("%d\n", most);
    return most == 1022 ? 0 : 1;
}
