//: class = "E3"
//: cause = ["launch-refused", "failed-call", "local-memory-exceeded"]
//: kernel = "stage"
//: plain = "sometimes"
//: fault = "The local buffer is larger than the device's local memory."
#include "start.h"

static const char *source = "__kernel void stage(__global float *x, __local float *tile)\n"
                            "{ tile[get_local_id(0)] = x[get_global_id(0)]; barrier(CLK_LOCAL_MEM_FENCE);\n"
                            "  x[get_global_id(0)] = tile[get_local_size(0) - 1 - get_local_id(0)]; }\n";

int main(void)
{
    Gpu gpu = start(0);
    cl_kernel stage = clCreateKernel(build(gpu, source), "stage", NULL);
    cl_ulong most = 0;
    must(clGetDeviceInfo(gpu.device, CL_DEVICE_LOCAL_MEM_SIZE, sizeof most, &most, NULL), "limit");
    cl_mem x = buffer(gpu, 4096);
    float zero = 0;
    must(clEnqueueFillBuffer(gpu.queue, x, &zero, sizeof zero, 0, 4096, 0, NULL, NULL), "fill");
    must(clSetKernelArg(stage, 0, sizeof x, &x), "x");
#ifdef TWIN
    size_t tile = 4096;
#else
    size_t tile = most + 65536; // FAULT
#endif
    must(clSetKernelArg(stage, 1, tile, NULL), "tile");
    size_t global = 1024, local = 64;
    must(clEnqueueNDRangeKernel(gpu.queue, stage, 1, NULL, &global, &local, 0, NULL, NULL), "stage");
    must(clFinish(gpu.queue), "finish");
    puts("staged");
    return 0;
}
