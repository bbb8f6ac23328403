//: class = "B1"
//: group = "order"
//: cause = ["unordered-access"]
//: kernel = ["integrate"]
//: call = ["clEnqueueReadBuffer"]
//: other = ["clEnqueueReadBuffer", "integrate"]
//: plain = "exit"
//: fault = "A blocking read on the transfer queue does not wait for the kernel on the compute queue."
#define CL_HPP_TARGET_OPENCL_VERSION 120
#define CL_HPP_MINIMUM_OPENCL_VERSION 120
#include <CL/opencl.hpp>
#include <cmath>
#include <cstdio>
#include <vector>

class Engine {
public:
    Engine()
        : context_(cl::Context::getDefault()), compute_(context_, context_.getInfo<CL_CONTEXT_DEVICES>()[0]),
          transfer_(context_, context_.getInfo<CL_CONTEXT_DEVICES>()[0]),
          program_(context_,
                   "__kernel void integrate(__global double *area, int slices)\n"
                   "{ double h = 1.0 / slices, s = 0;\n"
                   "  for (int i = 0; i < slices; ++i) { double x = (i + 0.5) * h; s += 4.0 / (1.0 + x * x); }\n"
                   "  area[get_global_id(0)] = s * h; }\n",
                   true),
          area_(context_, CL_MEM_READ_WRITE, sizeof(double))
    {
        compute_.enqueueFillBuffer(area_, 0.0, 0, sizeof(double));
        compute_.finish();
    }
    double pi(int slices)
    {
        cl::Kernel kernel(program_, "integrate");
        kernel.setArg(0, area_);
        kernel.setArg(1, slices);
        std::vector<cl::Event> done(1);
        compute_.enqueueNDRangeKernel(kernel, cl::NullRange, cl::NDRange(1), cl::NDRange(1), nullptr, &done[0]);
        compute_.flush();
        double result = -1;
#ifdef TWIN
        transfer_.enqueueReadBuffer(area_, CL_TRUE, 0, sizeof result, &result, &done);
#else
        transfer_.enqueueReadBuffer(area_, CL_TRUE, 0, sizeof result, &result); // FAULT
#endif
        compute_.finish();
        return result;
    }

private:
    cl::Context context_;
    cl::CommandQueue compute_, transfer_;
    cl::Program program_;
    cl::Buffer area_;
};

int main()
{
    Engine engine;
    double pi = engine.pi(40000000);
    printf("%.5f\n", pi);
    return std::fabs(pi - M_PI) < 1e-6 ? 0 : 1;
}
