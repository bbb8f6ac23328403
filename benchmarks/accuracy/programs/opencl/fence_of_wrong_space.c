//: class = "C2"
//: cause = ["missing-memory-fence", "race-in-kernel", "barrier-misuse"]
//: kernel = "reverse"
//: launch = 1
//: plain = "sometimes"
//: fault = "The barrier orders global memory, the exchange goes through local memory."
#include "start.h"

static const char *source =
    "__kernel void reverse(__global const int *in, __global int *out, __local int *s)\n"
    "{\n"
    "    int l = get_local_id(0), n = get_local_size(0);\n"
    "    s[l] = in[get_global_id(0)];\n"
#ifdef TWIN
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
#else
    "    barrier(CLK_GLOBAL_MEM_FENCE);\n" // FAULT
#endif
    "    out[get_global_id(0)] = s[n - 1 - l];\n"
    "}\n";

int main(void)
{
    Gpu gpu = start(0);
    cl_kernel kernel = clCreateKernel(build(gpu, source), "reverse", NULL);
    int host[256];
    for (int i = 0; i < 256; ++i) host[i] = i;
    cl_mem in = buffer(gpu, sizeof host), out = buffer(gpu, sizeof host);
    size_t n = 256, local = 64;
    must(clEnqueueWriteBuffer(gpu.queue, in, CL_TRUE, 0, sizeof host, host, 0, NULL, NULL), "write");
    must(clSetKernelArg(kernel, 0, sizeof in, &in), "in");
    must(clSetKernelArg(kernel, 1, sizeof out, &out), "out");
    must(clSetKernelArg(kernel, 2, local * sizeof(int), NULL), "local");
    must(clEnqueueNDRangeKernel(gpu.queue, kernel, 1, NULL, &n, &local, 0, NULL, NULL), "reverse");
    must(clEnqueueReadBuffer(gpu.queue, out, CL_TRUE, 0, sizeof host, host, 0, NULL, NULL), "read");
    printf("%d %d\n", host[0], host[255]);
    return host[0] == 63 && host[255] == 192 ? 0 : 1;
}
