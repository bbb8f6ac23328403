//: class = "H1"
//: group = "order"
//: cause = ["read-before-write"]
//: kernel = "gradient"
//: launch = 1
//: argument = 0
//: plain = "sometimes"
//: fault = "The program's own pool clears the buffers that it recycles, but not the fresh ones."
#define CL_HPP_TARGET_OPENCL_VERSION 120
#define CL_HPP_MINIMUM_OPENCL_VERSION 120
#include <CL/opencl.hpp>
#include <cstdio>
#include <vector>

class Pool {
public:
    Pool(cl::Context context, cl::CommandQueue queue) : context_(context), queue_(queue) {}
    cl::Buffer take(size_t bytes)
    {
        if (!free_.empty()) {
            cl::Buffer used = free_.back();
            free_.pop_back();
            queue_.enqueueFillBuffer(used, 0.0f, 0, bytes);
            return used;
        }
        cl::Buffer fresh(context_, CL_MEM_READ_WRITE, bytes); // FAULT
#ifdef TWIN
        queue_.enqueueFillBuffer(fresh, 0.0f, 0, bytes);
#endif
        return fresh;
    }
    void give_back(cl::Buffer b) { free_.push_back(b); }

private:
    cl::Context context_;
    cl::CommandQueue queue_;
    std::vector<cl::Buffer> free_;
};

int main()
{
    cl::Context context = cl::Context::getDefault();
    cl::CommandQueue queue(context, context.getInfo<CL_CONTEXT_DEVICES>()[0]);
    cl::Program program(context, "__kernel void gradient(__global float *g, float v) { g[get_global_id(0)] += v; }\n", true);
    Pool pool(context, queue);
    float seen[3];
    for (int step = 0; step < 3; ++step) {
        cl::Buffer g = pool.take(400 * sizeof(float));
        cl::Kernel gradient(program, "gradient");
        gradient.setArg(0, g);
        gradient.setArg(1, float(step + 1));
        queue.enqueueNDRangeKernel(gradient, cl::NullRange, cl::NDRange(400));
        queue.enqueueReadBuffer(g, CL_TRUE, 399 * sizeof(float), sizeof(float), &seen[step]);
        pool.give_back(g);
    }
    printf("%g %g %g\n", seen[0], seen[1], seen[2]);
    return seen[0] == 1 && seen[2] == 3 ? 0 : 1;
}
