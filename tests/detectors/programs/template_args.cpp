// Arguments through a template: the fault is in the line that passes a size_t for an int, not in the template.
extern "C" {
#include "common.h"
}
#include "template_args.hpp"

int main(int argc, char **argv)
{
    open_device(argc, argv);
    program = build(source);
    cl_kernel kernel = make_kernel("scale");
    cl_mem data = clCreateBuffer(context, CL_MEM_READ_WRITE, BYTES, NULL, NULL);
    size_t items = COUNT, count = COUNT;
    int n = COUNT;
    Arguments arguments{kernel};
    arguments.arg(data).arg(2.0f);
    if (is("right"))
        arguments.arg(n);
    else
        arguments.arg(count);
    check(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL), "clEnqueueNDRangeKernel");
    check(clFinish(queue), "clFinish");
    return 0;
}
