/* Values in the place of a memory argument of kernel scale. */
#include "common.h"

int main(int argc, char **argv)
{
    start(argc, argv);
    cl_kernel scale = make_kernel("scale"), copy = make_kernel("copy");
    cl_mem data = filled_buffer(BYTES), odd = filled_buffer(294912), gone = make_buffer(BYTES);
    cl_ulong value = 0;
    set_float(scale, 1, 2);
    set_int(scale, 2, COUNT);
    set_int(copy, 2, 1000000);
    check(clReleaseMemObject(gone), "clReleaseMemObject");
    if (is("dead"))
        memcpy(&value, &gone, sizeof gone);
    else if (is("foreign") || is("launch"))
        memcpy(&value, &queue, sizeof queue);
    else if (is("size"))
        value = 294912;
    else if (is("number"))
        value = 1000000;
    else if (is("small"))
        value = 7;
    else if (is("wild"))
        value = 0x123456789000;
    else if (is("impossible"))
        value = 0xc184c539c028f07c;
    else
        memcpy(&value, &data, sizeof data);
    set(scale, 0, sizeof value, &value);
    if (is("right") || is("launch"))
        launch(scale, COUNT);
    clReleaseMemObject(data);
    clReleaseMemObject(odd);
    clReleaseKernel(scale);
    clReleaseKernel(copy);
    return finish();
}
