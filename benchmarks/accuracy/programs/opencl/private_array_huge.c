//: class = "E4"
//: cause = ["device-stack-overflow"]
//: kernel = "table"
//: launch = 1
//: plain = "signal"
//: fault = "Each work item keeps a private table of 48 MiB: more than the stack of the thread that runs it."
#include "start.h"

static const char *source =
#ifdef TWIN
    "#define SIZE 64\n"
#else
    "#define SIZE 12582912\n" // FAULT
#endif
    "__kernel void table(__global int *out, int seed)\n"
    "{\n"
    "    int t[SIZE];\n"
    "    for (int i = 0; i < SIZE; i += 16) t[i] = seed + i;\n"
    "    out[get_global_id(0)] = t[(seed % (SIZE / 16)) * 16];\n"
    "}\n";

int main(void)
{
    Gpu gpu = start(0);
    cl_kernel table = clCreateKernel(build(gpu, source), "table", NULL);
    int seed = 3, host[4];
    size_t n = 4, one = 1;
    cl_mem out = buffer(gpu, sizeof host);
    must(clSetKernelArg(table, 0, sizeof out, &out), "out");
    must(clSetKernelArg(table, 1, sizeof seed, &seed), "seed");
    must(clEnqueueNDRangeKernel(gpu.queue, table, 1, NULL, &n, &one, 0, NULL, NULL), "table");
    must(clEnqueueReadBuffer(gpu.queue, out, CL_TRUE, 0, sizeof host, host, 0, NULL, NULL), "read");
    printf("%d\n", host[0]);
    return host[0] == 51 ? 0 : 1;
}
