//: class = "A1"
//: cause = ["out-of-bounds-access", "write-into-bystander"]
//: kernel = "clear"
//: launch = 1
//: argument = 0
//: plain = "exit"
//: fault = "The kernel gets a sub-buffer of 512 floats and clears 640: it runs into the neighbour's half."
#include "start.h"

static const char *source = "__kernel void clear(__global float *part) { part[get_global_id(0)] = 0.0f; }\n";

int main(void)
{
    Gpu gpu = start(0);
    cl_int status;
    enum { HALF = 512 };
    float one = 1.0f, host[2 * HALF];
    cl_mem whole = buffer(gpu, sizeof host);
    cl_buffer_region first = {0, HALF * sizeof(float)};
    cl_mem part = clCreateSubBuffer(whole, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &first, &status);
    must(status, "sub-buffer");
    must(clEnqueueFillBuffer(gpu.queue, whole, &one, sizeof one, 0, sizeof host, 0, NULL, NULL), "fill");
    cl_kernel clear = clCreateKernel(build(gpu, source), "clear", &status);
    must(status, "kernel");
    must(clSetKernelArg(clear, 0, sizeof part, &part), "part");
#ifdef TWIN
    size_t global = HALF;
#else
    size_t global = HALF + 128; // FAULT
#endif
    must(clEnqueueNDRangeKernel(gpu.queue, clear, 1, NULL, &global, NULL, 0, NULL, NULL), "clear");
    must(clEnqueueReadBuffer(gpu.queue, whole, CL_TRUE, 0, sizeof host, host, 0, NULL, NULL), "read");
    int zeros = 0;
    for (int i = 0; i < 2 * HALF; ++i) zeros += host[i] == 0.0f;
    printf("%d zeros\n", zeros);
    return zeros == HALF ? 0 : 1;
}
