//: class = "B1"
//: group = "order"
//: cause = ["unordered-access"]
//: kernel = ["paint"]
//: other = ["paint"]
//: plain = "sometimes"
//: fault = "Two queues write sub-buffers that share a region."
#include "start.h"

static const char *source =
    "__kernel void paint(__global int *part, int colour, int rounds)\n"
    "{ uint v = get_global_id(0); for (int r = 0; r < rounds; ++r) v = v * 22695477u + 1u;\n"
    "  part[get_global_id(0)] = v == 6 ? 0 : colour; }\n";

int main(void)
{
    Gpu gpu = start(0);
    cl_int status;
    cl_command_queue second = clCreateCommandQueue(gpu.context, gpu.device, 0, &status);
    must(status, "second queue");
    cl_program program = build(gpu, source);
    enum { PART = 1024 };
    int host[2 * PART];
    cl_mem whole = buffer(gpu, sizeof host);
#ifdef TWIN
    size_t middle = PART;
#else
    size_t middle = PART - 512; // FAULT
#endif
    cl_buffer_region left = {0, PART * sizeof(int)}, right = {middle * sizeof(int), PART * sizeof(int)};
    cl_mem parts[2] = {clCreateSubBuffer(whole, 0, CL_BUFFER_CREATE_TYPE_REGION, &left, &status), NULL};
    must(status, "left");
    parts[1] = clCreateSubBuffer(whole, 0, CL_BUFFER_CREATE_TYPE_REGION, &right, &status);
    must(status, "right");
    cl_command_queue queues[2] = {gpu.queue, second};
    size_t n = PART, local = 256;
    for (int i = 0; i < 2; ++i) {
        cl_kernel paint = clCreateKernel(program, "paint", NULL);
        int colour = i + 1, rounds = i ? 1000 : 20000;
        must(clSetKernelArg(paint, 0, sizeof parts[i], &parts[i]), "part");
        must(clSetKernelArg(paint, 1, sizeof colour, &colour), "colour");
        must(clSetKernelArg(paint, 2, sizeof rounds, &rounds), "rounds");
        must(clEnqueueNDRangeKernel(queues[i], paint, 1, NULL, &n, &local, 0, NULL, NULL), "paint");
        must(clFlush(queues[i]), "flush");
    }
    must(clFinish(gpu.queue), "finish");
    must(clFinish(second), "finish");
    must(clEnqueueReadBuffer(gpu.queue, whole, CL_TRUE, 0, sizeof host, host, 0, NULL, NULL), "read");
    int ones = 0;
    for (int i = 0; i < PART; ++i) ones += host[i] == 1;
    puts(ones == PART ? "left half intact" : "left half painted over");
    return ones == PART ? 0 : 1;
}
