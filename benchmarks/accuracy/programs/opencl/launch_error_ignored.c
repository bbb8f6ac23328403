//: class = "G1"
//: cause = ["launch-refused", "ignored-error", "failed-call"]
//: kernel = "negate"
//: launch = 1
//: plain = "silent"
//: fault = "A group of 100000 is refused, nobody looks, and the input is printed as the result."
#include "start.h"

static const char *source = "__kernel void negate(__global int *x) { x[get_global_id(0)] *= -1; }\n";

int main(void)
{
    Gpu gpu = start(0);
    cl_kernel negate = clCreateKernel(build(gpu, source), "negate", NULL);
    size_t n = 100000;
#ifdef TWIN
    size_t *local = NULL;
#else
    size_t *local = &n; // FAULT
#endif
    int *host = malloc(n * sizeof *host);
    for (size_t i = 0; i < n; ++i) host[i] = 1;
    cl_mem x = clCreateBuffer(gpu.context, CL_MEM_COPY_HOST_PTR, n * sizeof *host, host, NULL);
    clSetKernelArg(negate, 0, sizeof x, &x);
    clEnqueueNDRangeKernel(gpu.queue, negate, 1, NULL, &n, local, 0, NULL, NULL);
    clEnqueueReadBuffer(gpu.queue, x, CL_TRUE, 0, n * sizeof *host, host, 0, NULL, NULL);
    printf("first is %d\n", host[0]);
    clReleaseMemObject(x);
    return 0;
}
