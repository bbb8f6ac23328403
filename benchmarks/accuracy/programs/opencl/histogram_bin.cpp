//: class = "A1"
//: cause = ["out-of-bounds-access", "write-into-bystander"]
//: kernel = "histogram"
//: launch = 1
//: argument = 1
//: plain = "silent"
//: fault = "A value of exactly 1.0 is counted in bin 64 of 64."
#define CL_HPP_TARGET_OPENCL_VERSION 120
#define CL_HPP_MINIMUM_OPENCL_VERSION 120
#define CL_HPP_ENABLE_EXCEPTIONS
#include <CL/opencl.hpp>
#include <iostream>
#include <numeric>
#include <vector>

static const char *source = R"(
__kernel void histogram(__global const float *x, __global int *bins)
{
    int bin = (int)(x[get_global_id(0)] * 64);
    BOUND
    atomic_inc(&bins[bin]);
})";

int main()
{
    try {
        std::string text = source;
#ifdef TWIN
        text.replace(text.find("BOUND"), 5, "bin = min(bin, 63);");
#else
        text.replace(text.find("BOUND"), 5, ""); // FAULT
#endif
        cl::Context context = cl::Context::getDefault();
        cl::CommandQueue queue(context, context.getInfo<CL_CONTEXT_DEVICES>()[0]);
        cl::Program program(context, text, true);
        std::vector<float> x(10000);
        for (size_t i = 0; i < x.size(); ++i) x[i] = (i % 1001) / 1000.0f;
        std::vector<int> bins(64, 0);
        cl::Buffer dx(context, x.begin(), x.end(), true), db(context, bins.begin(), bins.end(), false);
        cl::KernelFunctor<cl::Buffer, cl::Buffer> histogram(program, "histogram");
        histogram(cl::EnqueueArgs(queue, cl::NDRange(x.size())), dx, db);
        queue.enqueueReadBuffer(db, CL_TRUE, 0, bins.size() * sizeof(int), bins.data());
        std::cout << std::accumulate(bins.begin(), bins.end(), 0) << " samples\n";
        return 0;
    } catch (const cl::Error &e) {
        std::cerr << e.what() << " " << e.err() << "\n";
        return 1;
    }
}
