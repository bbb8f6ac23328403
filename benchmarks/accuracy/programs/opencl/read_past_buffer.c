//: class = "A2"
//: cause = ["copy-range", "failed-call"]
//: call = "clEnqueueReadBuffer"
//: plain = "exit"
//: fault = "The read asks for the padded size; the call refuses it."
#include "start.h"

int main(void)
{
    Gpu gpu = start(0);
    const size_t count = 1000, padded = 1024;
    cl_mem result = buffer(gpu, count * sizeof(int));
    int zero = 0, *host = malloc(padded * sizeof(int));
    must(clEnqueueFillBuffer(gpu.queue, result, &zero, sizeof zero, 0, count * sizeof(int), 0, NULL, NULL), "fill");
#ifdef TWIN
    size_t bytes = count * sizeof(int);
#else
    size_t bytes = padded * sizeof(int); // FAULT
#endif
    must(clEnqueueReadBuffer(gpu.queue, result, CL_TRUE, 0, bytes, host, 0, NULL, NULL), "reading the result");
    printf("%d\n", host[0]);
    clReleaseMemObject(result);
    return 0;
}
