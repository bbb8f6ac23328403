//: class = "B1"
//: group = "order"
//: cause = ["host-memory-changed-under-copy", "unordered-access"]
//: call = ["clEnqueueWriteBuffer", "clSetEventCallback"]
//: plain = "sometimes"
//: fault = "A callback of the first kernel prepares the input; the write waits for the kernel, not for the callback."
#include "start.h"
#include <unistd.h>

static const char *source = "__kernel void warm(__global int *x) { *x = 1; }\n";

static int input[256];
static volatile int prepared;

static void CL_CALLBACK prepare(cl_event event, cl_int status, void *user)
{
    (void)event, (void)status;
    usleep(50000);
    for (int i = 0; i < 256; ++i) input[i] = 6;
    prepared = 1;
    must(clSetUserEventStatus((cl_event)user, CL_COMPLETE), "prepared");
}

int main(void)
{
    Gpu gpu = start(0);
    cl_int status;
    cl_command_queue upload = clCreateCommandQueue(gpu.context, gpu.device, 0, &status);
    must(status, "upload queue");
    cl_kernel warm = clCreateKernel(build(gpu, source), "warm", NULL);
    cl_mem scratch = buffer(gpu, 4), x = buffer(gpu, sizeof input);
    size_t one = 1;
    cl_event warmed, ready = clCreateUserEvent(gpu.context, &status);
    must(status, "event");
    must(clSetKernelArg(warm, 0, sizeof scratch, &scratch), "scratch");
    must(clEnqueueNDRangeKernel(gpu.queue, warm, 1, NULL, &one, NULL, 0, NULL, &warmed), "warm");
    must(clSetEventCallback(warmed, CL_COMPLETE, prepare, ready), "callback");
    must(clFlush(gpu.queue), "flush");
#ifdef TWIN
    must(clEnqueueWriteBuffer(upload, x, CL_FALSE, 0, sizeof input, input, 1, &ready, NULL), "write");
#else
    must(clEnqueueWriteBuffer(upload, x, CL_FALSE, 0, sizeof input, input, 1, &warmed, NULL), "write"); // FAULT
#endif
    must(clFlush(upload), "flush");
    int back[256], wrong = 0;
    must(clEnqueueReadBuffer(upload, x, CL_TRUE, 0, sizeof back, back, 0, NULL, NULL), "read");
    must(clWaitForEvents(1, &ready), "wait");
    for (int i = 0; i < 256; ++i) wrong += back[i] != 6;
    puts(wrong ? "not prepared" : "prepared");
    return wrong ? 1 : 0;
}
