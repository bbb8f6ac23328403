//: class = "A5"
//: cause = ["use-of-released-object", "crash-in-call", "failed-call", "use-after-free"]
//: call = "clEnqueueReadBuffer"
//: plain = "sometimes"
//: fault = "The result buffer is released one time too many, then read."
#include "start.h"

static const char *source = "__kernel void seven(__global int *x) { x[get_global_id(0)] = 7; }\n";

typedef struct {
    cl_mem mem;
} Tensor;

static void drop(Tensor *t) { clReleaseMemObject(t->mem); }

int main(void)
{
    Gpu gpu = start(0);
    cl_kernel seven = clCreateKernel(build(gpu, source), "seven", NULL);
    size_t n = 256;
    int first = 0;
    Tensor t = {buffer(gpu, n * sizeof(int))}, view = t;
#ifdef TWIN
    clRetainMemObject(view.mem);
#endif
    must(clSetKernelArg(seven, 0, sizeof t.mem, &t.mem), "x");
    must(clEnqueueNDRangeKernel(gpu.queue, seven, 1, NULL, &n, NULL, 0, NULL, NULL), "launch");
    must(clFinish(gpu.queue), "finish");
    clReleaseKernel(seven);
    drop(&view); // FAULT
    must(clEnqueueReadBuffer(gpu.queue, t.mem, CL_TRUE, 0, sizeof first, &first, 0, NULL, NULL), "read");
    printf("%d\n", first);
    drop(&t);
    return first == 7 ? 0 : 1;
}
