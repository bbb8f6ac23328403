//: class = "A5"
//: cause = ["wrong-context-handle", "failed-call", "wrong-device-pointer"]
//: kernel = "twice"
//: plain = "exit"
//: fault = "The buffer was created in another context than the kernel's."
#include "start.h"

static const char *source = "__kernel void twice(__global int *x) { x[get_global_id(0)] *= 2; }\n";

int main(void)
{
    Gpu gpu = start(0), other = start(0);
    cl_kernel twice = clCreateKernel(build(gpu, source), "twice", NULL);
    int five = 5, host[16];
#ifdef TWIN
    cl_mem x = buffer(gpu, sizeof host);
    must(clEnqueueFillBuffer(gpu.queue, x, &five, sizeof five, 0, sizeof host, 0, NULL, NULL), "fill");
#else
    cl_mem x = buffer(other, sizeof host); // FAULT
    must(clEnqueueFillBuffer(other.queue, x, &five, sizeof five, 0, sizeof host, 0, NULL, NULL), "fill");
    must(clFinish(other.queue), "finish");
#endif
    size_t n = 16;
    must(clSetKernelArg(twice, 0, sizeof x, &x), "argument");
    must(clEnqueueNDRangeKernel(gpu.queue, twice, 1, NULL, &n, NULL, 0, NULL, NULL), "launch");
    must(clEnqueueReadBuffer(gpu.queue, x, CL_TRUE, 0, sizeof host, host, 0, NULL, NULL), "read");
    printf("%d\n", host[15]);
    return host[15] == 10 ? 0 : 1;
}
