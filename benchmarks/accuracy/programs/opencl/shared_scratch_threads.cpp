//: class = "D2"
//: group = "order"
//: cause = ["unordered-access", "queue-driven-by-threads", "threads-collide"]
//: kernel = ["put", "get_sum"]
//: other = ["put", "get_sum"]
//: plain = "sometimes"
//: fault = "Two threads with queues and kernels of their own use one scratch buffer."
#define CL_HPP_TARGET_OPENCL_VERSION 120
#define CL_HPP_MINIMUM_OPENCL_VERSION 120
#include <CL/opencl.hpp>
#include <atomic>
#include <cstdio>
#include <thread>

static std::atomic<int> wrong{0};

static void work(cl::Context context, cl::Program program, cl::Buffer scratch, int value)
{
    cl::CommandQueue queue(context, context.getInfo<CL_CONTEXT_DEVICES>()[0]);
    cl::Kernel put(program, "put"), get_sum(program, "get_sum");
    cl::Buffer out(context, CL_MEM_READ_WRITE, sizeof(int));
    put.setArg(0, scratch);
    put.setArg(1, value);
    get_sum.setArg(0, scratch);
    get_sum.setArg(1, out);
    for (int i = 0; i < 40; ++i) {
        int sum = 0;
        queue.enqueueNDRangeKernel(put, cl::NullRange, cl::NDRange(256), cl::NDRange(64));
        queue.enqueueNDRangeKernel(get_sum, cl::NullRange, cl::NDRange(1), cl::NDRange(1));
        queue.enqueueReadBuffer(out, CL_TRUE, 0, sizeof sum, &sum);
        if (sum != 256 * value) ++wrong;
    }
}

int main()
{
    cl::Context context = cl::Context::getDefault();
    cl::Program program(context,
                        "__kernel void put(__global int *s, int v) { s[get_global_id(0)] = v; }\n"
                        "__kernel void get_sum(__global const int *s, __global int *out)\n"
                        "{ int t = 0; for (int i = 0; i < 256; ++i) t += s[i]; *out = t; }\n",
                        true);
    cl::Buffer first(context, CL_MEM_READ_WRITE, 1024), second(context, CL_MEM_READ_WRITE, 1024);
#ifndef TWIN
    second = first; // FAULT
#endif
    std::thread a(work, context, program, first, 3), b(work, context, program, second, 5);
    a.join();
    b.join();
    puts(wrong ? "sums differ" : "all sums right");
    return wrong ? 1 : 0;
}
