//: class = "D1"
//: cause = ["argument-order", "out-of-bounds-access", "write-into-bystander"]
//: kernel = "expand"
//: launch = 1
//: plain = "sometimes"
//: fault = "Source and destination are set in each other's place: the small buffer is written like the large one."
#define CL_HPP_TARGET_OPENCL_VERSION 120
#define CL_HPP_MINIMUM_OPENCL_VERSION 120
#include <CL/opencl.hpp>
#include <iostream>

int main()
{
    cl::Context context = cl::Context::getDefault();
    cl::CommandQueue queue(context, context.getInfo<CL_CONTEXT_DEVICES>()[0]);
    cl::Program program(context,
                        "__kernel void expand(__global float *large, __global const float *small)\n"
                        "{ int i = get_global_id(0); large[i] = small[i / 16]; }\n",
                        true);
    const size_t n = 1 << 20;
    cl::Buffer small(context, CL_MEM_READ_WRITE, n / 16 * sizeof(float)), large(context, CL_MEM_READ_WRITE, n * sizeof(float));
    queue.enqueueFillBuffer(small, 1.0f, 0, n / 16 * sizeof(float));
    queue.enqueueFillBuffer(large, 0.0f, 0, n * sizeof(float));
    cl::Kernel expand(program, "expand");
#ifdef TWIN
    expand.setArg(0, large);
    expand.setArg(1, small);
#else
    expand.setArg(0, small); // FAULT
    expand.setArg(1, large);
#endif
    queue.enqueueNDRangeKernel(expand, cl::NullRange, cl::NDRange(n));
    float last = -1;
    queue.enqueueReadBuffer(large, CL_TRUE, (n - 1) * sizeof(float), sizeof last, &last);
    std::cout << last << std::endl;
    return last == 1.0f ? 0 : 1;
}
