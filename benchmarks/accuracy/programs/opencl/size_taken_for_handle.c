//: class = "A5"
//: cause = ["value-is-not-a-handle", "crash-in-call", "failed-call"]
//: kernel = "restore"
//: call = "clSetKernelArg"
//: argument = 1
//: plain = "signal"
//: fault = "A tensor's plain descriptor is read as the quantized one: its byte size is taken for a buffer."
#include "start.h"

typedef struct {
    cl_mem data;
    size_t offset;
    size_t bytes;
} Plain;

typedef struct {
    cl_mem quants;
    cl_mem image;
    cl_mem scales;
} Quantized;

typedef struct {
    int type; // 0 plain, 1 quantized
    int layout;
    void *extra;
} Tensor;

static const char *source = "__kernel void restore(__global const char *q, __global const float *d, __global float *out)\n"
                            "{ int i = get_global_id(0); out[i] = q[i] * d[i / 32]; }\n"
                            "__kernel void unpack(__global const char *q, __global float *out)\n"
                            "{ int i = get_global_id(0); out[i] = q[i]; }\n";

static void read_back(Gpu gpu, cl_program program, const Tensor *tensor, cl_mem out)
{
    size_t n = 1024;
#ifdef TWIN
    int quantized = tensor->layout == 1;
#else
    int quantized = tensor->type == 1; // FAULT
#endif
    cl_kernel kernel = clCreateKernel(program, quantized ? "restore" : "unpack", NULL);
    int next = 0;
    if (quantized) {
        Quantized *extra = tensor->extra;
        must(clSetKernelArg(kernel, next++, sizeof(cl_mem), &extra->quants), "quants");
        must(clSetKernelArg(kernel, next++, sizeof(cl_mem), &extra->scales), "scales");
    } else {
        must(clSetKernelArg(kernel, next++, sizeof(cl_mem), &((Plain *)tensor->extra)->data), "data");
    }
    must(clSetKernelArg(kernel, next, sizeof out, &out), "out");
    must(clEnqueueNDRangeKernel(gpu.queue, kernel, 1, NULL, &n, NULL, 0, NULL, NULL), "restore");
}

int main(void)
{
    Gpu gpu = start(0);
    cl_program program = build(gpu, source);
    Plain plain = {buffer(gpu, 0x48000), 0, 0x48000};
    char zero = 0;
    must(clEnqueueFillBuffer(gpu.queue, plain.data, &zero, 1, 0, plain.bytes, 0, NULL, NULL), "fill");
    Tensor kv = {1, 0, &plain};
    read_back(gpu, program, &kv, buffer(gpu, 4096));
    must(clFinish(gpu.queue), "finish");
    puts("restored");
    return 0;
}
