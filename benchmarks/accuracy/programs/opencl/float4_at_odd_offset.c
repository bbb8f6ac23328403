//: class = "A6"
//: cause = ["misaligned-access"]
//: kernel = "lengths"
//: launch = 1
//: argument = 0
//: plain = "sometimes"
//: fault = "The kernel casts a pointer to element 1 to float4, which wants multiples of 16 bytes."
#include "start.h"

static const char *source =
    "__kernel void lengths(__global const float *x, __global float *out, int first)\n"
    "{\n"
    "    int i = get_global_id(0);\n"
#ifdef TWIN
    "    float4 v = vload4(i, x + first);\n"
#else
    "    float4 v = ((__global const float4 *)(x + first))[i];\n" // FAULT
#endif
    "    out[i] = length(v);\n"
    "}\n";

int main(void)
{
    Gpu gpu = start(0);
    cl_kernel kernel = clCreateKernel(build(gpu, source), "lengths", NULL);
    int first = 1;
    float host[4 * 64 + 4], out[64];
    for (int i = 0; i < 4 * 64 + 4; ++i) host[i] = 1;
    cl_mem x = buffer(gpu, sizeof host), y = buffer(gpu, sizeof out);
    size_t n = 64;
    must(clEnqueueWriteBuffer(gpu.queue, x, CL_TRUE, 0, sizeof host, host, 0, NULL, NULL), "write");
    must(clSetKernelArg(kernel, 0, sizeof x, &x), "x");
    must(clSetKernelArg(kernel, 1, sizeof y, &y), "y");
    must(clSetKernelArg(kernel, 2, sizeof first, &first), "first");
    must(clEnqueueNDRangeKernel(gpu.queue, kernel, 1, NULL, &n, NULL, 0, NULL, NULL), "lengths");
    must(clEnqueueReadBuffer(gpu.queue, y, CL_TRUE, 0, sizeof out, out, 0, NULL, NULL), "read");
    printf("%g\n", out[63]);
    return out[63] == 2 ? 0 : 1;
}
