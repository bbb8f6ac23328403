//: class = "I"
//: cause = ["hang"]
//: kernel = "chain"
//: launch = 1
//: plain = "hang"
//: fault = "Group g waits for a flag of group g + 1; with fewer processors than groups the later ones never start."
#include "start.h"

static const char *source =
    "__kernel void chain(volatile __global int *flags, __global int *out)\n"
    "{\n"
    "    int g = get_group_id(0), n = get_num_groups(0);\n"
#ifdef TWIN
    "    out[g] = n - g;\n"
#else
    "    if (g + 1 < n) while (atomic_add(&flags[g + 1], 0) == 0) { }\n" // FAULT
    "    out[g] = n - g;\n"
#endif
    "    atomic_xchg(&flags[g], 1);\n"
    "}\n";

int main(void)
{
    Gpu gpu = start(0);
    cl_kernel chain = clCreateKernel(build(gpu, source), "chain", NULL);
    enum { GROUPS = 512 };
    int zero = 0, host[GROUPS];
    cl_mem flags = buffer(gpu, sizeof host), out = buffer(gpu, sizeof host);
    size_t n = GROUPS, one = 1;
    must(clEnqueueFillBuffer(gpu.queue, flags, &zero, sizeof zero, 0, sizeof host, 0, NULL, NULL), "fill");
    must(clSetKernelArg(chain, 0, sizeof flags, &flags), "flags");
    must(clSetKernelArg(chain, 1, sizeof out, &out), "out");
    must(clEnqueueNDRangeKernel(gpu.queue, chain, 1, NULL, &n, &one, 0, NULL, NULL), "chain");
    must(clEnqueueReadBuffer(gpu.queue, out, CL_TRUE, 0, sizeof host, host, 0, NULL, NULL), "read");
    printf("%d\n", host[0]);
    return 0;
}
