//: class = "B1"
//: group = "order"
//: cause = ["host-memory-changed-under-copy", "unordered-access"]
//: call = ["clEnqueueWriteBuffer", "clSetUserEventStatus"]
//: plain = "exit"
//: fault = "The user event that releases the upload is set before the host has filled the source."
#include "start.h"
#include <unistd.h>

int main(void)
{
    Gpu gpu = start(0);
    cl_int status;
    enum { N = 2048 };
    static int source[N], back[N];
    cl_mem x = buffer(gpu, sizeof source);
    cl_event filled = clCreateUserEvent(gpu.context, &status);
    must(status, "event");
    must(clEnqueueWriteBuffer(gpu.queue, x, CL_FALSE, 0, sizeof source, source, 1, &filled, NULL), "write");
    must(clFlush(gpu.queue), "flush");
#ifndef TWIN
    must(clSetUserEventStatus(filled, CL_COMPLETE), "set"); // FAULT
#endif
    usleep(40000); // the file is read
    for (int i = 0; i < N; ++i) source[i] = 3;
#ifdef TWIN
    must(clSetUserEventStatus(filled, CL_COMPLETE), "set");
#endif
    must(clEnqueueReadBuffer(gpu.queue, x, CL_TRUE, 0, sizeof back, back, 0, NULL, NULL), "read");
    int wrong = 0;
    for (int i = 0; i < N; ++i) wrong += back[i] != 3;
    puts(wrong ? "old data uploaded" : "uploaded");
    return wrong ? 1 : 0;
}
