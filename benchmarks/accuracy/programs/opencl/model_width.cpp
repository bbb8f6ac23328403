//: class = "A2"
//: cause = ["out-of-bounds-access", "undersized-buffer", "write-into-bystander", "model-dimensions"]
//: kernel = "up"
//: launch = 2
//: argument = 0
//: plain = "signal"
//: fault = "The activations are sized with the default width before the model's width is known."
#define CL_HPP_TARGET_OPENCL_VERSION 120
#define CL_HPP_MINIMUM_OPENCL_VERSION 120
#include <CL/opencl.hpp>
#include <cstdio>

struct Hyper {
    int rows = 64, hidden = 1100;
};

int main()
{
    cl::Context context = cl::Context::getDefault();
    cl::CommandQueue queue(context, context.getInfo<CL_CONTEXT_DEVICES>()[0]);
    cl::Program program(context,
                        "__kernel void norm(__global float *x) { x[get_global_id(0)] = 0.5f; }\n"
                        "__kernel void up(__global float *y, __global const float *x, int hidden)\n"
                        "{ int c = get_global_id(0), r = get_global_id(1); y[r * hidden + c] = x[r] * 2; }\n",
                        true);
    Hyper hyper;
#ifdef TWIN
    hyper.hidden = 14336;
#endif
    cl::Buffer x(context, CL_MEM_READ_WRITE, hyper.rows * sizeof(float));
    cl::Buffer y(context, CL_MEM_READ_WRITE, sizeof(float) * hyper.rows * hyper.hidden); // FAULT
    hyper.hidden = 14336; // read from the model
    cl::Kernel norm(program, "norm"), up(program, "up");
    norm.setArg(0, x);
    up.setArg(0, y);
    up.setArg(1, x);
    up.setArg(2, hyper.hidden);
    queue.enqueueNDRangeKernel(norm, cl::NullRange, cl::NDRange(hyper.rows));
    queue.enqueueNDRangeKernel(up, cl::NullRange, cl::NDRange(hyper.hidden, hyper.rows));
    float last = 0;
    cl_int status = queue.enqueueReadBuffer(y, CL_TRUE, 0, sizeof last, &last);
    printf("%d %g\n", status, last);
    return status == CL_SUCCESS && last == 1.0f ? 0 : 1;
}
