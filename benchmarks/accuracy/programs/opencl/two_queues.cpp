//: class = "B1"
//: group = "order"
//: cause = ["unordered-access"]
//: kernel = ["blur", "sharpen"]
//: other = ["blur", "sharpen"]
//: plain = "sometimes"
//: fault = "The second kernel is enqueued to another queue without the first one's event."
#define CL_HPP_TARGET_OPENCL_VERSION 120
#define CL_HPP_MINIMUM_OPENCL_VERSION 120
#include <CL/opencl.hpp>
#include <cstdio>
#include <vector>

int main()
{
    cl::Context context = cl::Context::getDefault();
    cl::Device device = context.getInfo<CL_CONTEXT_DEVICES>()[0];
    cl::CommandQueue first(context, device), second(context, device);
    cl::Program program(context,
                        "__kernel void blur(__global float *x, int rounds)\n"
                        "{ uint v = get_global_id(0); for (int r = 0; r < rounds; ++r) v = v * 69069u + 1u;\n"
                        "  x[get_global_id(0)] = v == 2 ? 0.0f : 4.0f; }\n"
                        "__kernel void sharpen(__global float *x) { x[get_global_id(0)] *= 2; }\n",
                        true);
    const int n = 16;
    cl::Buffer x(context, CL_MEM_READ_WRITE, n * sizeof(float));
    first.enqueueFillBuffer(x, 0.0f, 0, n * sizeof(float));
    first.finish();
    cl::Kernel blur(program, "blur"), sharpen(program, "sharpen");
    blur.setArg(0, x);
    blur.setArg(1, 10000000);
    sharpen.setArg(0, x);
    std::vector<cl::Event> blurred(1);
    first.enqueueNDRangeKernel(blur, cl::NullRange, cl::NDRange(n), cl::NDRange(n), nullptr, &blurred[0]);
    first.flush();
#ifdef TWIN
    second.enqueueNDRangeKernel(sharpen, cl::NullRange, cl::NDRange(n), cl::NDRange(n), &blurred);
#else
    second.enqueueNDRangeKernel(sharpen, cl::NullRange, cl::NDRange(n), cl::NDRange(n)); // FAULT
#endif
    second.finish();
    first.finish();
    float host[n];
    first.enqueueReadBuffer(x, CL_TRUE, 0, sizeof host, host);
    printf("%g\n", host[0]);
    return host[0] == 8.0f ? 0 : 1;
}
