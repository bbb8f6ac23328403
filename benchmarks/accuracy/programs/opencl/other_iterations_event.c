//: class = "B1"
//: group = "order"
//: cause = ["unordered-access"]
//: kernel = ["fill", "drain"]
//: other = ["fill", "drain"]
//: plain = "exit"
//: fault = "The wait list of iteration i names the event of iteration i - 1."
#include "start.h"

static const char *source =
    "__kernel void fill(__global int *x, int value, int rounds)\n"
    "{ uint v = get_global_id(0); for (int r = 0; r < rounds; ++r) v = v * 22695477u + 1u;\n"
    "  x[get_global_id(0)] = v == 3 ? -1 : value; }\n"
    "__kernel void drain(__global const int *x, __global int *y) { int i = get_global_id(0); y[i] = x[i]; }\n";

int main(void)
{
    Gpu gpu = start(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    cl_program program = build(gpu, source);
    enum { STEPS = 4, N = 16 };
    cl_event filled[STEPS];
    cl_mem slot[STEPS], out[STEPS];
    int zero = 0, rounds = 6000000, wrong = 0;
    size_t n = N;
    for (int i = 0; i < STEPS; ++i) {
        slot[i] = buffer(gpu, N * sizeof(int));
        out[i] = buffer(gpu, N * sizeof(int));
        must(clEnqueueFillBuffer(gpu.queue, slot[i], &zero, sizeof zero, 0, N * sizeof(int), 0, NULL, NULL), "clear");
    }
    must(clFinish(gpu.queue), "finish");
    for (int i = 0; i < STEPS; ++i) {
        cl_kernel fill = clCreateKernel(program, "fill", NULL), drain = clCreateKernel(program, "drain", NULL);
        int value = i + 1;
        must(clSetKernelArg(fill, 0, sizeof slot[i], &slot[i]), "slot");
        must(clSetKernelArg(fill, 1, sizeof value, &value), "value");
        must(clSetKernelArg(fill, 2, sizeof rounds, &rounds), "rounds");
        must(clEnqueueNDRangeKernel(gpu.queue, fill, 1, NULL, &n, &n, 0, NULL, &filled[i]), "fill");
        must(clSetKernelArg(drain, 0, sizeof slot[i], &slot[i]), "slot");
        must(clSetKernelArg(drain, 1, sizeof out[i], &out[i]), "out");
#ifdef TWIN
        must(clEnqueueNDRangeKernel(gpu.queue, drain, 1, NULL, &n, &n, 1, &filled[i], NULL), "drain");
#else
        must(clEnqueueNDRangeKernel(gpu.queue, drain, 1, NULL, &n, &n, i > 0, i ? &filled[i - 1] : NULL, NULL), "drain"); // FAULT
#endif
    }
    must(clFinish(gpu.queue), "finish");
    for (int i = 0; i < STEPS; ++i) {
        int host[N];
        must(clEnqueueReadBuffer(gpu.queue, out[i], CL_TRUE, 0, sizeof host, host, 0, NULL, NULL), "read");
        for (int k = 0; k < N; ++k) wrong += host[k] != i + 1;
    }
    puts(wrong ? "wrong" : "right");
    return wrong ? 1 : 0;
}
