//: class = "B4"
//: group = "order"
//: cause = ["host-memory-changed-under-copy", "host-read-before-copy-done"]
//: call = "clEnqueueReadBuffer"
//: plain = "exit"
//: fault = "clFlush only starts the work; the result is used before the read has finished."
#include "start.h"

static const char *source =
    "__kernel void primes(__global int *count, int limit)\n"
    "{ int c = 0; for (int n = 2; n < limit; ++n) { int p = 1; for (int d = 2; d * d <= n; ++d) if (n % d == 0) { p = 0; break; } c += p; }\n"
    "  *count = c; }\n";

int main(void)
{
    Gpu gpu = start(0);
    cl_kernel primes = clCreateKernel(build(gpu, source), "primes", NULL);
    int limit = 200000, count = 0;
    size_t one = 1;
    cl_mem out = buffer(gpu, sizeof count);
    must(clSetKernelArg(primes, 0, sizeof out, &out), "count");
    must(clSetKernelArg(primes, 1, sizeof limit, &limit), "limit");
    must(clEnqueueNDRangeKernel(gpu.queue, primes, 1, NULL, &one, NULL, 0, NULL, NULL), "primes");
    must(clEnqueueReadBuffer(gpu.queue, out, CL_FALSE, 0, sizeof count, &count, 0, NULL, NULL), "read");
#ifdef TWIN
    must(clFinish(gpu.queue), "finish");
#else
    must(clFlush(gpu.queue), "flush"); // FAULT
#endif
    int seen = *(volatile int *)&count;
    printf("%d primes\n", seen);
    must(clFinish(gpu.queue), "finish");
    return seen == 17984 ? 0 : 1;
}
