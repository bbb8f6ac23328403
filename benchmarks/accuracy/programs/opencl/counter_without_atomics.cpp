//: class = "C1"
//: cause = ["race-in-kernel"]
//: kernel = "votes"
//: launch = 1
//: argument = 1
//: plain = "sometimes"
//: fault = "Work items of all groups increment one counter without atomics."
#define CL_HPP_TARGET_OPENCL_VERSION 120
#define CL_HPP_MINIMUM_OPENCL_VERSION 120
#include <CL/opencl.hpp>
#include <cstdio>
#include <string>

int main()
{
    cl::Context context = cl::Context::getDefault();
    cl::CommandQueue queue(context, context.getInfo<CL_CONTEXT_DEVICES>()[0]);
#ifdef TWIN
    std::string increment = "atomic_inc(&count[x[i] & 3]);";
#else
    std::string increment = "count[x[i] & 3] = count[x[i] & 3] + 1;"; // FAULT
#endif
    cl::Program program(context,
                        "__kernel void votes(__global const int *x, volatile __global int *count)\n"
                        "{ int i = get_global_id(0); " + increment + " }\n",
                        true);
    const int n = 400000;
    int counts[4] = {};
    cl::Buffer x(context, CL_MEM_READ_ONLY, n * sizeof(int)), count(context, CL_MEM_READ_WRITE, sizeof counts);
    queue.enqueueFillBuffer(x, 1, 0, n * sizeof(int));
    queue.enqueueFillBuffer(count, 0, 0, sizeof counts);
    cl::Kernel votes(program, "votes");
    votes.setArg(0, x);
    votes.setArg(1, count);
    queue.enqueueNDRangeKernel(votes, cl::NullRange, cl::NDRange(n), cl::NDRange(100));
    queue.enqueueReadBuffer(count, CL_TRUE, 0, sizeof counts, counts);
    printf("%s\n", counts[1] == n ? "all counted" : "votes lost");
    return counts[1] == n ? 0 : 1;
}
