//: class = "A4"
//: cause = ["host-pointer-as-buffer", "value-is-not-a-handle", "failed-call", "crash-in-call"]
//: kernel = "scale"
//: call = "clSetKernelArg"
//: argument = 0
//: plain = "signal"
//: fault = "The address of the host array is set as the buffer."
#include "start.h"

static const char *source = "__kernel void scale(__global float *x, float f) { x[get_global_id(0)] *= f; }\n";

int main(void)
{
    Gpu gpu = start(0);
    cl_kernel scale = clCreateKernel(build(gpu, source), "scale", NULL);
    size_t n = 512;
    float *host = malloc(n * sizeof *host), factor = 2;
    for (size_t i = 0; i < n; ++i) host[i] = 3;
    cl_mem x = buffer(gpu, n * sizeof *host);
    must(clEnqueueWriteBuffer(gpu.queue, x, CL_TRUE, 0, n * sizeof *host, host, 0, NULL, NULL), "write");
#ifdef TWIN
    must(clSetKernelArg(scale, 0, sizeof x, &x), "x");
#else
    must(clSetKernelArg(scale, 0, sizeof host, &host), "x"); // FAULT
#endif
    must(clSetKernelArg(scale, 1, sizeof factor, &factor), "factor");
    must(clEnqueueNDRangeKernel(gpu.queue, scale, 1, NULL, &n, NULL, 0, NULL, NULL), "scale");
    must(clEnqueueReadBuffer(gpu.queue, x, CL_TRUE, 0, n * sizeof *host, host, 0, NULL, NULL), "read");
    printf("%g\n", host[n - 1]);
    return host[n - 1] == 6 ? 0 : 1;
}
