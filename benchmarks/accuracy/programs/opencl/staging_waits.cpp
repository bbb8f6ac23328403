//: class = "T"
//: cause = []
//: plain = "passes"
//: fault = "None: two staging buffers take turns, and each is refilled only after the event of its own last write."
#define CL_HPP_TARGET_OPENCL_VERSION 120
#define CL_HPP_MINIMUM_OPENCL_VERSION 120
#include <CL/opencl.hpp>
#include <algorithm>
#include <cstdio>
#include <vector>

int main()
{
    cl::Context context = cl::Context::getDefault();
    cl::CommandQueue queue(context, context.getInfo<CL_CONTEXT_DEVICES>()[0]);
    const int n = 3000, chunks = 8;
    std::vector<int> staging[2] = {std::vector<int>(n), std::vector<int>(n)};
    cl::Event written[2];
    cl::Buffer device(context, CL_MEM_READ_WRITE, chunks * n * sizeof(int));
    for (int c = 0; c < chunks; ++c) {
        if (c >= 2) written[c % 2].wait();
        std::fill(staging[c % 2].begin(), staging[c % 2].end(), c);
        queue.enqueueWriteBuffer(device, CL_FALSE, c * n * sizeof(int), n * sizeof(int), staging[c % 2].data(), nullptr, &written[c % 2]);
        queue.flush();
    }
    std::vector<int> back(chunks * n);
    queue.enqueueReadBuffer(device, CL_TRUE, 0, back.size() * sizeof(int), back.data());
    int wrong = 0;
    for (int i = 0; i < chunks * n; ++i) wrong += back[i] != i / n;
    printf("%d wrong\n", wrong);
    return wrong ? 1 : 0;
}
