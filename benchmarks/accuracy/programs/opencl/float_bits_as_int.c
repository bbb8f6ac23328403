//: class = "D1"
//: cause = ["argument-type"]
//: kernel = "repeat"
//: launch = 1
//: argument = 1
//: plain = "exit"
//: fault = "The count is a float on the host: the kernel reads the bits of 3.0f as 1077936128."
#include "start.h"

static const char *source = "__kernel void repeat(__global int *x, int count) { x[get_global_id(0)] = count * 10; }\n";

int main(void)
{
    Gpu gpu = start(0);
    cl_kernel repeat = clCreateKernel(build(gpu, source), "repeat", NULL);
#ifdef TWIN
    int count = 3;
#else
    float count = 3; // FAULT
#endif
    int host[8];
    size_t n = 8;
    cl_mem x = buffer(gpu, sizeof host);
    must(clSetKernelArg(repeat, 0, sizeof x, &x), "x");
    must(clSetKernelArg(repeat, 1, sizeof count, &count), "count");
    must(clEnqueueNDRangeKernel(gpu.queue, repeat, 1, NULL, &n, NULL, 0, NULL, NULL), "repeat");
    must(clEnqueueReadBuffer(gpu.queue, x, CL_TRUE, 0, sizeof host, host, 0, NULL, NULL), "read");
    printf("%d\n", host[0]);
    return host[0] == 30 ? 0 : 1;
}
