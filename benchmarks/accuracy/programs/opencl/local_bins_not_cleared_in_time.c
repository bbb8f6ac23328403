//: class = "C1"
//: cause = ["race-in-kernel", "read-before-write"]
//: kernel = "letters"
//: launch = 1
//: plain = "exit"
//: fault = "Work item l clears bin 31 - l and then counts, without a barrier between: early counts are cleared."
#include "start.h"

static const char *source =
    "__kernel void letters(__global const uchar *text, __global int *bins)\n"
    "{\n"
    "    __local int mine[32];\n"
    "    int l = get_local_id(0);\n"
    "    if (l < 32) mine[31 - l] = 0;\n"
#ifdef TWIN
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
#endif
    "    atomic_inc(&mine[text[get_global_id(0)] & 31]);\n" // FAULT
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    if (l < 32) atomic_add(&bins[l], mine[l]);\n"
    "}\n";

int main(void)
{
    Gpu gpu = start(0);
    cl_kernel kernel = clCreateKernel(build(gpu, source), "letters", NULL);
    enum { N = 4096 };
    unsigned char text[N];
    int bins[32] = {0}, sum = 0;
    for (int i = 0; i < N; ++i) text[i] = i * 5;
    cl_mem in = buffer(gpu, N), out = buffer(gpu, sizeof bins);
    size_t n = N, local = 64;
    must(clEnqueueWriteBuffer(gpu.queue, in, CL_TRUE, 0, N, text, 0, NULL, NULL), "write");
    must(clEnqueueWriteBuffer(gpu.queue, out, CL_TRUE, 0, sizeof bins, bins, 0, NULL, NULL), "write");
    must(clSetKernelArg(kernel, 0, sizeof in, &in), "text");
    must(clSetKernelArg(kernel, 1, sizeof out, &out), "bins");
    must(clEnqueueNDRangeKernel(gpu.queue, kernel, 1, NULL, &n, &local, 0, NULL, NULL), "letters");
    must(clEnqueueReadBuffer(gpu.queue, out, CL_TRUE, 0, sizeof bins, bins, 0, NULL, NULL), "read");
    for (int i = 0; i < 32; ++i) sum += bins[i];
    printf("%d letters\n", sum);
    return sum == N ? 0 : 1;
}
