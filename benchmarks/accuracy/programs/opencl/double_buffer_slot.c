//: class = "B1"
//: group = "order"
//: cause = ["unordered-access"]
//: kernel = ["sum_chunk"]
//: call = ["clEnqueueWriteBuffer"]
//: other = ["clEnqueueWriteBuffer", "sum_chunk"]
//: plain = "exit"
//: fault = "The upload of chunk i waits for the kernel of the other slot, so it overwrites the slot that is being read."
#include "start.h"

static const char *source =
    "__kernel void sum_chunk(volatile __global const int *chunk, __global int *sums, int at, int n, int rounds)\n"
    "{ uint v = 3; for (int r = 0; r < rounds; ++r) v = v * 1664525u + 1013904223u;\n"
    "  int s = v == 0 ? 1 : 0; for (int i = 0; i < n; ++i) s += chunk[i]; sums[at] = s; }\n";

int main(void)
{
    Gpu gpu = start(0);
    cl_int status;
    cl_command_queue upload = clCreateCommandQueue(gpu.context, gpu.device, 0, &status);
    must(status, "upload queue");
    cl_kernel kernel = clCreateKernel(build(gpu, source), "sum_chunk", NULL);
    enum { CHUNKS = 5, N = 1024 };
    static int host[CHUNKS][N];
    int sums[CHUNKS], n = N, rounds = 40000000, wrong = 0;
    for (int c = 0; c < CHUNKS; ++c)
        for (int i = 0; i < N; ++i) host[c][i] = c + 1;
    cl_mem slot[2] = {buffer(gpu, sizeof host[0]), buffer(gpu, sizeof host[0])}, out = buffer(gpu, sizeof sums);
    cl_event uploaded[CHUNKS], summed[CHUNKS];
    size_t one = 1;
    for (int c = 0; c < CHUNKS; ++c) {
#ifdef TWIN
        int wait = c - 2;
#else
        int wait = c - 3; // FAULT
#endif
        must(clEnqueueWriteBuffer(upload, slot[c % 2], CL_FALSE, 0, sizeof host[c], host[c], wait >= 0, wait >= 0 ? &summed[wait] : NULL, &uploaded[c]),
             "upload");
        must(clFlush(upload), "flush");
        must(clSetKernelArg(kernel, 0, sizeof slot[0], &slot[c % 2]), "chunk");
        must(clSetKernelArg(kernel, 1, sizeof out, &out), "sums");
        must(clSetKernelArg(kernel, 2, sizeof c, &c), "at");
        must(clSetKernelArg(kernel, 3, sizeof n, &n), "n");
        must(clSetKernelArg(kernel, 4, sizeof rounds, &rounds), "rounds");
        must(clEnqueueNDRangeKernel(gpu.queue, kernel, 1, NULL, &one, &one, 1, &uploaded[c], &summed[c]), "sum");
        must(clFlush(gpu.queue), "flush");
    }
    must(clFinish(gpu.queue), "finish");
    must(clFinish(upload), "finish");
    must(clEnqueueReadBuffer(gpu.queue, out, CL_TRUE, 0, sizeof sums, sums, 0, NULL, NULL), "read");
    for (int c = 0; c < CHUNKS; ++c) wrong += sums[c] != N * (c + 1);
    puts(wrong ? "wrong sums" : "sums ok");
    return wrong ? 1 : 0;
}
