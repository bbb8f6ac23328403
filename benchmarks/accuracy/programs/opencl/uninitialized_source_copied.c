//: class = "H1"
//: group = "order"
//: cause = ["read-before-write"]
//: kernel = "norm"
//: call = ["clEnqueueCopyBuffer"]
//: plain = "sometimes"
//: fault = "The default weights are copied from a template that nothing has written."
#include "start.h"

static const char *source = "__kernel void norm(__global const float *w, __global float *out, int n)\n"
                            "{ float s = 0; for (int i = 0; i < n; ++i) s += fabs(w[i]); *out = s; }\n";

int main(void)
{
    Gpu gpu = start(0);
    cl_kernel norm = clCreateKernel(build(gpu, source), "norm", NULL);
    int n = 10000;
    size_t bytes = n * sizeof(float), one = 1;
    float zero = 0, result = -1;
    cl_mem template = buffer(gpu, bytes), weights = buffer(gpu, bytes), out = buffer(gpu, sizeof result);
#ifdef TWIN
    must(clEnqueueFillBuffer(gpu.queue, template, &zero, sizeof zero, 0, bytes, 0, NULL, NULL), "template");
#else
    (void)zero;
#endif
    must(clEnqueueCopyBuffer(gpu.queue, template, weights, 0, 0, bytes, 0, NULL, NULL), "copy"); // FAULT
    must(clSetKernelArg(norm, 0, sizeof weights, &weights), "weights");
    must(clSetKernelArg(norm, 1, sizeof out, &out), "out");
    must(clSetKernelArg(norm, 2, sizeof n, &n), "n");
    must(clEnqueueNDRangeKernel(gpu.queue, norm, 1, NULL, &one, NULL, 0, NULL, NULL), "norm");
    must(clEnqueueReadBuffer(gpu.queue, out, CL_TRUE, 0, sizeof result, &result, 0, NULL, NULL), "read");
    printf("%g\n", result);
    return result == 0 ? 0 : 1;
}
