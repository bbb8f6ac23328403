//: class = "A2"
//: cause = ["host-access-outside-buffer", "crash-in-call", "crash-outside-calls", "copy-range"]
//: call = "clEnqueueReadBuffer"
//: plain = "signal"
//: fault = "The result is read into a vector that was reserved, not resized."
#define CL_HPP_TARGET_OPENCL_VERSION 120
#define CL_HPP_MINIMUM_OPENCL_VERSION 120
#include <CL/opencl.hpp>
#include <cstdio>
#include <vector>

int main()
{
    cl::Context context = cl::Context::getDefault();
    cl::CommandQueue queue(context, context.getInfo<CL_CONTEXT_DEVICES>()[0]);
    const size_t n = 8 << 20;
    cl::Buffer x(context, CL_MEM_READ_WRITE, n * sizeof(int));
    queue.enqueueFillBuffer(x, 7, 0, n * sizeof(int));
    std::vector<int> host(16);
#ifdef TWIN
    host.resize(n);
#endif
    queue.enqueueReadBuffer(x, CL_TRUE, 0, n * sizeof(int), host.data()); // FAULT
    std::vector<int> other(1000, 1);
    printf("%d %zu\n", host[15], other.size());
    return 0;
}
