//: class = "I"
//: cause = ["hang"]
//: kernel = "gate"
//: call = ["clCreateUserEvent", "clFinish", "clEnqueueReadBuffer", "clWaitForEvents"]
//: plain = "hang"
//: fault = "The launch waits for a user event whose status is never set."
#include "start.h"

static const char *source = "__kernel void gate(__global int *x) { x[get_global_id(0)] = 1; }\n";

int main(void)
{
    Gpu gpu = start(0);
    cl_kernel gate = clCreateKernel(build(gpu, source), "gate", NULL);
    cl_int status;
    cl_event loaded = clCreateUserEvent(gpu.context, &status);
    must(status, "event");
    cl_mem x = buffer(gpu, 256);
    size_t n = 64;
    must(clSetKernelArg(gate, 0, sizeof x, &x), "x");
    must(clEnqueueNDRangeKernel(gpu.queue, gate, 1, NULL, &n, NULL, 1, &loaded, NULL), "gate");
#ifdef TWIN
    must(clSetUserEventStatus(loaded, CL_COMPLETE), "loaded");
#endif
    must(clFinish(gpu.queue), "finish"); // FAULT
    puts("through the gate");
    return 0;
}
