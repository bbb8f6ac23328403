//: class = "A2"
//: cause = ["out-of-bounds-access", "undersized-buffer", "write-into-bystander"]
//: kernel = "iota"
//: launch = 1
//: argument = 0
//: plain = "signal"
//: fault = "The buffer gets as many bytes as it should have floats."
#include "start.h"

static const char *source = "__kernel void iota(__global float *x) { size_t i = get_global_id(0); x[i] = i; }\n";

int main(void)
{
    Gpu gpu = start(0);
    cl_kernel iota = clCreateKernel(build(gpu, source), "iota", NULL);
    size_t n = 4 << 20;
#ifdef TWIN
    cl_mem x = buffer(gpu, n * sizeof(float));
#else
    cl_mem x = buffer(gpu, n); // FAULT
#endif
    must(clSetKernelArg(iota, 0, sizeof x, &x), "x");
    must(clEnqueueNDRangeKernel(gpu.queue, iota, 1, NULL, &n, NULL, 0, NULL, NULL), "iota");
    must(clFinish(gpu.queue), "finish");
    puts("done");
    return 0;
}
