// A buffer on the memory of a vector; "grown": the vector is resized before the launch. "right": it had the room.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
extern "C" {
#include "common.h"
}

int main(int argc, char **argv)
{
    start(argc, argv);
    std::vector<float> host(COUNT, 1.0f);
    if (is("right"))
        host.reserve(2 * COUNT);
    cl_mem in = clCreateBuffer(context, CL_MEM_READ_ONLY | CL_MEM_USE_HOST_PTR, BYTES, host.data(), nullptr);
    cl_mem out = clCreateBuffer(context, CL_MEM_READ_WRITE, BYTES, nullptr, nullptr);
    host.resize(2 * COUNT);
    cl_kernel copy = make_kernel("copy");
    set_mem(copy, 0, in);
    set_mem(copy, 1, out);
    set_int(copy, 2, COUNT);
    launch(copy, COUNT);
    check(clFinish(queue), "clFinish");
    clReleaseMemObject(in);
    return 0;
}
