/* Host memory in the place of a memory argument. */
#include "common.h"

int main(int argc, char **argv)
{
    cl_int status;
    start(argc, argv);
    cl_kernel scale = make_kernel("scale");
    cl_mem data = filled_buffer(BYTES), from_host;
    float on_stack[COUNT] = {0};
    float *on_heap = calloc(COUNT, sizeof *on_heap);
    void *pointer = NULL;
    from_host = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, BYTES, on_heap, &status);
    check(status, "clCreateBuffer");
    if (is("stack"))
        pointer = on_stack;
    else if (is("heap"))
        pointer = on_heap;
    else if (is("mapped"))
        pointer = clEnqueueMapBuffer(queue, data, CL_TRUE, CL_MAP_READ, 0, BYTES, 0, NULL, NULL, &status);
    if (pointer)
        clSetKernelArg(scale, 0, sizeof pointer, &pointer);
    else if (is("handle"))
        clSetKernelArg(scale, 0, sizeof(cl_mem), data);
    else
        set_mem(scale, 0, data);
    set_mem(make_kernel("copy"), 0, from_host);
    return 0;
}
