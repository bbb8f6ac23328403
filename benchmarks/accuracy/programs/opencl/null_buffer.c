//: class = "A4"
//: cause = ["null-pointer"]
//: kernel = "bias_add"
//: launch = 1
//: argument = 1
//: plain = "signal"
//: fault = "The layer has no bias, so a null buffer is set; the kernel reads it all the same."
#include "start.h"

static const char *source =
    "__kernel void bias_add(__global float *x, __global const float *bias)\n"
    "{ int i = get_global_id(0);\n"
#ifdef TWIN
    "  if (bias) x[i] += bias[i];\n"
#else
    "  x[i] += bias[i];\n" // FAULT
#endif
    "}\n";

int main(void)
{
    Gpu gpu = start(0);
    cl_kernel kernel = clCreateKernel(build(gpu, source), "bias_add", NULL);
    float host[128] = {0};
    cl_int status;
    cl_mem x = clCreateBuffer(gpu.context, CL_MEM_COPY_HOST_PTR, sizeof host, host, &status), none = NULL;
    must(status, "x");
    must(clSetKernelArg(kernel, 0, sizeof x, &x), "x");
    must(clSetKernelArg(kernel, 1, sizeof none, &none), "bias");
    size_t n = 128;
    must(clEnqueueNDRangeKernel(gpu.queue, kernel, 1, NULL, &n, NULL, 0, NULL, NULL), "bias_add");
    must(clEnqueueReadBuffer(gpu.queue, x, CL_TRUE, 0, sizeof host, host, 0, NULL, NULL), "read");
    printf("%g\n", host[0]);
    return 0;
}
