/* 400 buffers of 4 MB at the same time, written and released; "one by one": 5000 small ones after each other. */
#include "common.h"

static void touch(cl_mem buffer)
{
    int one = 1;
    check(clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 4092, sizeof one, &one, 0, NULL, NULL), "clEnqueueWriteBuffer");
}

int main(int argc, char **argv)
{
    open_device(argc, argv);
    cl_mem buffers[400];
    for (int i = 0; is("one by one") && i < 5000; i++) {
        cl_mem buffer = make_buffer(4096);
        touch(buffer);
        clReleaseMemObject(buffer);
    }
    for (int i = 0; !is("one by one") && i < 400; i++)
        touch(buffers[i] = make_buffer(4 << 20));
    for (int i = 0; !is("one by one") && i < 400; i++)
        clReleaseMemObject(buffers[i]);
    return finish();
}
