//: class = "T"
//: cause = []
//: plain = "passes"
//: fault = "None: the last vector load ends exactly at the end of the buffer, and surplus work items return at once."
#include "start.h"

static const char *source = "__kernel void sum4(__global const float *x, __global float *out, int n4)\n"
                            "{\n"
                            "    int i = get_global_id(0);\n"
                            "    if (i >= n4) return;\n"
                            "    float4 v = vload4(i, x);\n"
                            "    out[i] = v.x + v.y + v.z + v.w;\n"
                            "}\n";

int main(void)
{
    Gpu gpu = start(0);
    cl_kernel sum4 = clCreateKernel(build(gpu, source), "sum4", NULL);
    int n4 = 251;
    float one = 1, host[251];
    size_t global = 256, local = 32;
    cl_mem x = buffer(gpu, n4 * 16), out = buffer(gpu, sizeof host);
    must(clEnqueueFillBuffer(gpu.queue, x, &one, sizeof one, 0, n4 * 16, 0, NULL, NULL), "fill");
    must(clSetKernelArg(sum4, 0, sizeof x, &x), "x");
    must(clSetKernelArg(sum4, 1, sizeof out, &out), "out");
    must(clSetKernelArg(sum4, 2, sizeof n4, &n4), "n4");
    must(clEnqueueNDRangeKernel(gpu.queue, sum4, 1, NULL, &global, &local, 0, NULL, NULL), "sum4");
    must(clEnqueueReadBuffer(gpu.queue, out, CL_TRUE, 0, sizeof host, host, 0, NULL, NULL), "read");
    printf("%g\n", host[250]);
    return host[250] == 4 ? 0 : 1;
}
