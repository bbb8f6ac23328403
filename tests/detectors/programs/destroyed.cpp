// A buffer whose class releases it; the temporary that it was copied from dies first.
#include <cstdio>
#include <cstdlib>
#include <cstring>
extern "C" {
#include "common.h"
}

struct Buffer {
    cl_mem mem;
    explicit Buffer(size_t bytes) : mem(clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, nullptr, nullptr)) {}
    __attribute__((noinline)) ~Buffer() { clReleaseMemObject(mem); } // destructor
};

int main(int argc, char **argv)
{
    start(argc, argv);
    {
        Buffer one(64);
    } // end
    return 0;
}
