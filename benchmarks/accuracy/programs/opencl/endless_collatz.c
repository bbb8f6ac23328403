//: class = "I"
//: cause = ["hang"]
//: kernel = "collatz"
//: launch = 1
//: plain = "hang"
//: fault = "The start value 0 never reaches 1."
#include "start.h"

static const char *source = "__kernel void collatz(__global const uint *from, __global int *steps)\n"
                            "{\n"
                            "    int i = get_global_id(0), count = 0;\n"
                            "    for (volatile uint v = from[i]; v != 1; ++count) v = v % 2 ? 3 * v + 1 : v / 2;\n"
                            "    steps[i] = count;\n"
                            "}\n";

int main(void)
{
    Gpu gpu = start(0);
    cl_kernel collatz = clCreateKernel(build(gpu, source), "collatz", NULL);
    enum { N = 64 };
    cl_uint from[N];
    int steps[N];
#ifdef TWIN
    for (int i = 0; i < N; ++i) from[i] = i + 1;
#else
    for (int i = 0; i < N; ++i) from[i] = i; // FAULT
#endif
    cl_mem in = buffer(gpu, sizeof from), out = buffer(gpu, sizeof steps);
    size_t n = N;
    must(clEnqueueWriteBuffer(gpu.queue, in, CL_TRUE, 0, sizeof from, from, 0, NULL, NULL), "write");
    must(clSetKernelArg(collatz, 0, sizeof in, &in), "from");
    must(clSetKernelArg(collatz, 1, sizeof out, &out), "steps");
    must(clEnqueueNDRangeKernel(gpu.queue, collatz, 1, NULL, &n, NULL, 0, NULL, NULL), "collatz");
    must(clEnqueueReadBuffer(gpu.queue, out, CL_TRUE, 0, sizeof steps, steps, 0, NULL, NULL), "read");
    printf("%d\n", steps[26]);
    return 0;
}
