//: class = "A4"
//: cause = ["ignored-error", "null-pointer", "failed-call"]
//: call = ["clCreateBuffer"]
//: plain = "signal"
//: fault = "A buffer of zero bytes is refused; the null handle goes on to the kernel."
#include "start.h"

static const char *source = "__kernel void mark(__global int *x) { x[get_global_id(0)] = 1; }\n";

int main(void)
{
    Gpu gpu = start(0);
    cl_kernel mark = clCreateKernel(build(gpu, source), "mark", NULL);
#ifdef TWIN
    size_t detections = 12;
#else
    size_t detections = 0; // FAULT
#endif
    size_t n = 64;
    cl_mem x = clCreateBuffer(gpu.context, CL_MEM_READ_WRITE, detections * 64 * sizeof(int), NULL, NULL);
    clSetKernelArg(mark, 0, sizeof x, &x);
    clEnqueueNDRangeKernel(gpu.queue, mark, 1, NULL, &n, NULL, 0, NULL, NULL);
    clFinish(gpu.queue);
    puts("marked");
    return 0;
}
