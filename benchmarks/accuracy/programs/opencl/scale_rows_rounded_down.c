//: class = "A2"
//: cause = ["wrong-number"]
//: kernel = "dequantise"
//: launch = 1
//: argument = 3
//: plain = "exit"
//: fault = "The length of a row of scales is rounded down, so that rows share scales; all accesses stay inside."
#include "start.h"

enum { ROWS = 24, COLUMNS = 150, BLOCK = 64 };
static const char *source =
    "__kernel void dequantise(__global const char *q, __global const float *scales, __global float *out, int scales_per_row, int columns)\n"
    "{\n"
    "    int c = get_global_id(0), r = get_global_id(1);\n"
    "    out[r * columns + c] = q[r * columns + c] * scales[r * scales_per_row + c / 64];\n"
    "}\n";

int main(void)
{
    Gpu gpu = start(0);
    cl_kernel kernel = clCreateKernel(build(gpu, source), "dequantise", NULL);
    static char q[ROWS * COLUMNS];
    static float scales[ROWS * 3], out[ROWS * COLUMNS];
    for (int i = 0; i < ROWS * COLUMNS; i++)
        q[i] = (char)(i % 100 + 1);
    for (int i = 0; i < ROWS * 3; i++)
        scales[i] = 0.5f + i;
#ifdef TWIN
    cl_int scales_per_row = (COLUMNS + BLOCK - 1) / BLOCK, columns = COLUMNS;
#else
    cl_int scales_per_row = COLUMNS / BLOCK, columns = COLUMNS; // FAULT
#endif
    cl_mem in = clCreateBuffer(gpu.context, CL_MEM_COPY_HOST_PTR, sizeof q, q, NULL);
    cl_mem by = clCreateBuffer(gpu.context, CL_MEM_COPY_HOST_PTR, sizeof scales, scales, NULL);
    cl_mem to = buffer(gpu, sizeof out);
    size_t global[2] = {COLUMNS, ROWS};
    clSetKernelArg(kernel, 0, sizeof in, &in);
    clSetKernelArg(kernel, 1, sizeof by, &by);
    clSetKernelArg(kernel, 2, sizeof to, &to);
    clSetKernelArg(kernel, 3, sizeof scales_per_row, &scales_per_row);
    clSetKernelArg(kernel, 4, sizeof columns, &columns);
    must(clEnqueueNDRangeKernel(gpu.queue, kernel, 2, NULL, global, NULL, 0, NULL, NULL), "launch");
    must(clEnqueueReadBuffer(gpu.queue, to, CL_TRUE, 0, sizeof out, out, 0, NULL, NULL), "read");
    int wrong = 0;
    for (int r = 0; r < ROWS; r++)
        for (int c = 0; c < COLUMNS; c++)
            wrong += out[r * COLUMNS + c] != q[r * COLUMNS + c] * scales[r * 3 + c / BLOCK];
    printf("%d wrong\n", wrong);
    return wrong ? 1 : 0;
}
