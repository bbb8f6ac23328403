//: class = "A1"
//: cause = ["out-of-bounds-access"]
//: kernel = "gather"
//: launch = 1
//: argument = [0, 1]
//: plain = "signal"
//: fault = "One of the indices is a missing-value mark, -2147483648."
#include "start.h"

static const char *source = "__kernel void gather(__global const double *table, __global const int *index, __global double *out)\n"
                            "{ int i = get_global_id(0); out[i] = table[(long)index[i]]; }\n";

int main(void)
{
    Gpu gpu = start(0);
    cl_program program = build(gpu, source);
    cl_kernel gather = clCreateKernel(program, "gather", NULL);
    enum { N = 256, ROWS = 1000 };
    int index[N];
    double out[N], zero = 0;
    for (int i = 0; i < N; ++i) index[i] = (i * 17) % ROWS;
#ifndef TWIN
    index[81] = -2147483647 - 1; // FAULT
#endif
    cl_mem table = buffer(gpu, ROWS * sizeof(double)), indices = buffer(gpu, sizeof index), result = buffer(gpu, sizeof out);
    must(clEnqueueFillBuffer(gpu.queue, table, &zero, sizeof zero, 0, ROWS * sizeof(double), 0, NULL, NULL), "fill");
    must(clEnqueueWriteBuffer(gpu.queue, indices, CL_TRUE, 0, sizeof index, index, 0, NULL, NULL), "write");
    must(clSetKernelArg(gather, 0, sizeof table, &table), "table");
    must(clSetKernelArg(gather, 1, sizeof indices, &indices), "indices");
    must(clSetKernelArg(gather, 2, sizeof result, &result), "result");
    size_t global = N;
    must(clEnqueueNDRangeKernel(gpu.queue, gather, 1, NULL, &global, NULL, 0, NULL, NULL), "gather");
    must(clEnqueueReadBuffer(gpu.queue, result, CL_TRUE, 0, sizeof out, out, 0, NULL, NULL), "read");
    puts("gathered");
    return 0;
}
