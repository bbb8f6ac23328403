//: class = "H1"
//: cause = ["read-before-write"]
//: kernel = "accumulate"
//: launch = 1
//: argument = 0
//: plain = "sometimes"
//: fault = "The sums are added to a buffer that nothing has cleared."
#include "start.h"

static const char *source = "__kernel void accumulate(__global float *sum, float v) { sum[get_global_id(0)] += v; }\n";

int main(void)
{
    for (int i = 0; i < 64; ++i) { // what ran before leaves its numbers in the heap
        void *p = malloc(40000);
        memset(p, 0x45, 40000);
        free(p);
    }
    Gpu gpu = start(0);
    cl_kernel accumulate = clCreateKernel(build(gpu, source), "accumulate", NULL);
    size_t n = 8192;
    float v = 0.25f, *host = malloc(n * sizeof *host), zero = 0, most = 0;
    cl_mem sum = buffer(gpu, n * sizeof *host); // FAULT
#ifdef TWIN
    must(clEnqueueFillBuffer(gpu.queue, sum, &zero, sizeof zero, 0, n * sizeof *host, 0, NULL, NULL), "fill");
#else
    (void)zero;
#endif
    must(clSetKernelArg(accumulate, 0, sizeof sum, &sum), "sum");
    must(clSetKernelArg(accumulate, 1, sizeof v, &v), "v");
    for (int round = 0; round < 4; ++round)
        must(clEnqueueNDRangeKernel(gpu.queue, accumulate, 1, NULL, &n, NULL, 0, NULL, NULL), "accumulate");
    must(clEnqueueReadBuffer(gpu.queue, sum, CL_TRUE, 0, n * sizeof *host, host, 0, NULL, NULL), "read");
    for (size_t i = 0; i < n; ++i) most = host[i] > most ? host[i] : most;
    printf("%g\n", most);
    return most == 1 ? 0 : 1;
}
