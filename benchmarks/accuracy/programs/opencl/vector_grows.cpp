//: class = "B4"
//: group = "order"
//: cause = ["host-memory-changed-under-copy", "use-after-free"]
//: call = "clEnqueueWriteBuffer"
//: plain = "sometimes"
//: fault = "The vector grows, and moves, while a non-blocking write still reads its old storage."
#define CL_HPP_TARGET_OPENCL_VERSION 120
#define CL_HPP_MINIMUM_OPENCL_VERSION 120
#include <CL/opencl.hpp>
#include <cstdio>
#include <vector>

int main()
{
    cl::Context context = cl::Context::getDefault();
    cl::CommandQueue queue(context, context.getInfo<CL_CONTEXT_DEVICES>()[0]);
    cl::Program program(context,
                        "__kernel void busy(__global int *x, int rounds)\n"
                        "{ uint v = 1; for (int r = 0; r < rounds; ++r) v = v * 22695477u + 1u; *x = v; }\n",
                        true);
    cl::Kernel busy(program, "busy");
    cl::Buffer scratch(context, CL_MEM_READ_WRITE, 4);
    std::vector<int> events(5000, 7);
    events.shrink_to_fit();
    cl::Buffer device(context, CL_MEM_READ_WRITE, events.size() * sizeof(int));
    const size_t bytes = events.size() * sizeof(int);
    busy.setArg(0, scratch);
    busy.setArg(1, 60000000);
    queue.enqueueNDRangeKernel(busy, cl::NullRange, cl::NDRange(1), cl::NDRange(1));
    queue.enqueueWriteBuffer(device, CL_FALSE, 0, bytes, events.data());
    queue.flush();
#ifdef TWIN
    queue.finish();
#endif
    events.push_back(8); // FAULT
    std::vector<int> next(5000, 9);
    queue.finish();
    int back[5000], wrong = 0;
    queue.enqueueReadBuffer(device, CL_TRUE, 0, sizeof back, back);
    for (int v : back) wrong += v != 7;
    printf("%s %d\n", wrong ? "damaged" : "intact", (int)(events.back() + next[0]));
    return wrong ? 1 : 0;
}
