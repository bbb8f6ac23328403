//: class = "F2"
//: cause = ["not-device-code", "failed-call"]
//: call = ["clCreateProgramWithBinary", "clBuildProgram"]
//: plain = "exit"
//: fault = "The cached program binary lost its second half."
#include "start.h"

static const char *source = "__kernel void one(__global int *x) { *x = 1; }\n";

int main(void)
{
    Gpu gpu = start(0);
    cl_program first = build(gpu, source);
    size_t bytes = 0;
    must(clGetProgramInfo(first, CL_PROGRAM_BINARY_SIZES, sizeof bytes, &bytes, NULL), "size");
    unsigned char *cached = malloc(bytes);
    must(clGetProgramInfo(first, CL_PROGRAM_BINARIES, sizeof cached, &cached, NULL), "binary");
#ifndef TWIN
    memset(cached, 0, 64); // FAULT
    bytes /= 2;
#endif
    cl_int status, binary_status;
    const unsigned char *image = cached;
    cl_program again = clCreateProgramWithBinary(gpu.context, 1, &gpu.device, &bytes, &image, &binary_status, &status);
    must(status, "loading the cached program");
    must(clBuildProgram(again, 1, &gpu.device, "", NULL, NULL), "building the cached program");
    cl_kernel one = clCreateKernel(again, "one", &status);
    must(status, "kernel");
    cl_mem x = buffer(gpu, 4);
    size_t n = 1;
    int value = 0;
    must(clSetKernelArg(one, 0, sizeof x, &x), "x");
    must(clEnqueueNDRangeKernel(gpu.queue, one, 1, NULL, &n, NULL, 0, NULL, NULL), "one");
    must(clEnqueueReadBuffer(gpu.queue, x, CL_TRUE, 0, sizeof value, &value, 0, NULL, NULL), "read");
    printf("%d\n", value);
    return value == 1 ? 0 : 1;
}
