/* A buffer is released while it is set on a kernel. */
#include "common.h"

int main(int argc, char **argv)
{
    start(argc, argv);
    cl_kernel kernel = make_kernel("scale");
    cl_mem data = filled_buffer(BYTES);
    check(clFinish(queue), "clFinish");
    set_mem(kernel, 0, data);
    set_float(kernel, 1, 2);
    set_int(kernel, 2, 0);  /* the kernel touches nothing, so that the run passes */
    if (is("right"))
        launch(kernel, COUNT);
    clReleaseMemObject(data);
    if (is("reused")) {  /* many drivers give the address to the next buffer */
        cl_mem next = make_buffer(BYTES);
        for (int i = 0; next != data && i < 1000; i++)
            next = make_buffer(BYTES);
        printf("%s\n", next == data ? "same" : "other");
    }
    if (is("set again"))
        set_mem(kernel, 0, filled_buffer(BYTES));
    if (!is("right"))
        launch(kernel, COUNT);
    return finish();
}
