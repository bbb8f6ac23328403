/* Crashes inside a call, in a kernel, in the program, and by abort. */
#include "common.h"
#include <assert.h>
#undef NDEBUG

static void expect_none(int count) { assert(count == 0); }

int main(int argc, char **argv)
{
    start(argc, argv);
    cl_kernel kernel = make_kernel("far_away"), scale = make_kernel("scale");
    cl_mem data = filled_buffer(BYTES);
    cl_ulong far = is("kernel") ? 1ull << 42 : 0;
    set_mem(kernel, 0, data);
    set(kernel, 1, sizeof far, &far);
    launch(kernel, 1);
    if (is("kernel"))
        clFinish(queue);
    if (is("call"))  /* the driver writes through a pointer of the program */
        clEnqueueReadBuffer(queue, data, CL_TRUE, 0, BYTES, (void *)0x123456789000, 0, NULL, NULL);
    if (is("host"))
        *(volatile int *)0x10 = 1;
    if (is("abort"))
        abort();
    if (is("assert"))
        expect_none(argc);
    if (is("library"))
        return (int)strlen((const char *)(size_t)(argc - 2));
    (void)scale;
    return finish();
}
