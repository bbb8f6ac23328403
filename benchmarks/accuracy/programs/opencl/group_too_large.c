//: class = "E1"
//: cause = ["launch-refused", "failed-call"]
//: kernel = "rows"
//: launch = 1
//: plain = "exit"
//: fault = "The group has one work item per pixel of a row: 16384 are more than the device allows."
#include "start.h"

static const char *source = "__kernel void rows(__global uchar *p) { p[get_global_id(1) * get_global_size(0) + get_global_id(0)] = 1; }\n";

int main(void)
{
    Gpu gpu = start(0);
    cl_kernel rows = clCreateKernel(build(gpu, source), "rows", NULL);
    size_t global[2] = {16384, 16};
#ifdef TWIN
    size_t local[2] = {64, 1};
#else
    size_t local[2] = {16384, 1}; // FAULT
#endif
    cl_mem p = buffer(gpu, global[0] * global[1]);
    must(clSetKernelArg(rows, 0, sizeof p, &p), "p");
    must(clEnqueueNDRangeKernel(gpu.queue, rows, 2, NULL, global, local, 0, NULL, NULL), "rows");
    must(clFinish(gpu.queue), "finish");
    puts("done");
    return 0;
}
