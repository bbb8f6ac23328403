/* Buffers that a header-only library makes for the program: from one line, from a function of the program, and many. */
#include "common.h"
#include "bindings/CL/opencl.hpp"

static __attribute__((noinline)) cl_mem from_function(size_t bytes)
{
    cl_mem made = bound_buffer(context, bytes); /* function: wrapper */
    __asm__ volatile("" ::: "memory");
    return made;
}

int main(int argc, char **argv)
{
    start(argc, argv);
    if (is("direct"))
        bound_buffer(context, 64); /* direct: line */
    if (is("inlined"))
        bound_inlined(context, 64); /* inlined: line */
    if (is("function")) {
        from_function(64);
        from_function(128); /* function: line */
    }
    if (is("many"))
        for (int n = 0; n < 300; n++)
            clReleaseMemObject(bound_buffer(context, 64));
    return 0;
}
