//: class = "A1"
//: cause = ["out-of-bounds-access", "argument-order", "write-into-bystander"]
//: kernel = "transpose"
//: launch = 1
//: argument = 1
//: plain = "signal"
//: fault = "The transposed matrix is written with the wrong row length."
#include "start.h"

static const char *source =
    "__kernel void transpose(__global const float *in, __global float *out, int rows, int cols)\n"
    "{\n"
    "    int r = get_global_id(1), c = get_global_id(0);\n"
#ifdef TWIN
    "    out[c * rows + r] = in[r * cols + c];\n"
#else
    "    out[c * cols + r] = in[r * cols + c];\n" // FAULT
#endif
    "}\n";

int main(void)
{
    Gpu gpu = start(0);
    cl_program program = build(gpu, source);
    cl_kernel kernel = clCreateKernel(program, "transpose", NULL);
    int rows = 64, cols = 8192;
    size_t bytes = sizeof(float) * rows * cols, global[2] = {cols, rows};
    float *host = calloc(rows * cols, sizeof *host);
    host[5] = 1.0f;
    cl_mem in = clCreateBuffer(gpu.context, CL_MEM_COPY_HOST_PTR, bytes, host, NULL);
    cl_mem out = clCreateBuffer(gpu.context, 0, bytes, NULL, NULL);
    clSetKernelArg(kernel, 0, sizeof in, &in);
    clSetKernelArg(kernel, 1, sizeof out, &out);
    clSetKernelArg(kernel, 2, sizeof rows, &rows);
    clSetKernelArg(kernel, 3, sizeof cols, &cols);
    clEnqueueNDRangeKernel(gpu.queue, kernel, 2, NULL, global, NULL, 0, NULL, NULL);
    clEnqueueReadBuffer(gpu.queue, out, CL_TRUE, 0, bytes, host, 0, NULL, NULL);
    printf("%g\n", host[5 * rows]);
    return host[5 * rows] == 1.0f ? 0 : 1;
}
