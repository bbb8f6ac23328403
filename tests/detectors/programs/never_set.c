/* Launches without all arguments of kernel scale(data, float factor, int n). */
#include "common.h"

int main(int argc, char **argv)
{
    start(argc, argv);
    cl_kernel kernel = make_kernel("scale"), second = make_kernel("scale");
    cl_mem data = filled_buffer(BYTES);
    size_t count = COUNT;
    set_mem(kernel, 0, data);
    set_float(kernel, 1, 2);
    if (is("refused"))
        clSetKernelArg(kernel, 2, sizeof(cl_int), NULL);  /* an integer cannot be null */
    else if (!is("missing"))
        set_int(kernel, 2, COUNT);
    cl_int status = clEnqueueNDRangeKernel(queue, is("second") ? second : kernel, 1, NULL, &count, NULL, 0, NULL, NULL);
    if (is("tolerated"))
        status = clEnqueueNDRangeKernel(queue, second, 1, NULL, &count, NULL, 0, NULL, NULL) == CL_SUCCESS;
    check(status, "clEnqueueNDRangeKernel");
    return finish();
}
