//: class = "G1"
//: cause = ["ignored-error", "failed-call"]
//: call = "clBuildProgram"
//: plain = "exit"
//: fault = "The kernel does not compile; the program goes on and reports the kernel that cannot be created."
#include "start.h"

static const char *source =
    "__kernel void clip(__global float *x, float most)\n"
#ifdef TWIN
    "{ int i = get_global_id(0); x[i] = fmin(x[i], most); }\n";
#else
    "{ int i = get_global_id(0); x[i] = fmin(x[i], mots); }\n"; // FAULT
#endif

int main(void)
{
    Gpu gpu = start(0);
    cl_int status;
    cl_program program = clCreateProgramWithSource(gpu.context, 1, &source, NULL, NULL);
    clBuildProgram(program, 1, &gpu.device, NULL, NULL, NULL);
    cl_kernel clip = clCreateKernel(program, "clip", &status);
    if (!clip) {
        fprintf(stderr, "no kernel clip (%d)\n", status);
        return 1;
    }
    float host[16], most = 1;
    for (int i = 0; i < 16; ++i) host[i] = i;
    cl_mem x = clCreateBuffer(gpu.context, CL_MEM_COPY_HOST_PTR, sizeof host, host, NULL);
    size_t n = 16;
    clSetKernelArg(clip, 0, sizeof x, &x);
    clSetKernelArg(clip, 1, sizeof most, &most);
    clEnqueueNDRangeKernel(gpu.queue, clip, 1, NULL, &n, NULL, 0, NULL, NULL);
    clEnqueueReadBuffer(gpu.queue, x, CL_TRUE, 0, sizeof host, host, 0, NULL, NULL);
    printf("%g\n", host[15]);
    return host[15] == 1 ? 0 : 1;
}
