/* Buffers that are read before anything wrote them, and all the ways in which they may have been written. */
#include "common.h"

int main(int argc, char **argv)
{
    cl_int status;
    char room[BYTES] = {0};
    start(argc, argv);
    cl_kernel copy = make_kernel("copy");
    cl_mem data = make_buffer(BYTES), out = make_buffer(BYTES);
    cl_buffer_region region = {0, BYTES / 2};
    if (is("fill"))
        data = filled_buffer(BYTES);
    if (is("write"))
        clEnqueueWriteBuffer(queue, data, CL_TRUE, 0, BYTES, room, 0, NULL, NULL);
    if (is("host"))
        data = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, BYTES, room, &status);
    if (is("map")) {
        void *at = clEnqueueMapBuffer(queue, data, CL_TRUE, CL_MAP_WRITE, 0, BYTES, 0, NULL, NULL, &status);
        clEnqueueUnmapMemObject(queue, data, at, 0, NULL, NULL);
    }
    if (is("part")) {  /* written through a sub-buffer */
        cl_mem half = clCreateSubBuffer(data, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &status);
        clEnqueueWriteBuffer(queue, half, CL_TRUE, 0, BYTES / 2, room, 0, NULL, NULL);
    }
    if (is("whole")) {  /* read through a sub-buffer */
        clEnqueueWriteBuffer(queue, data, CL_TRUE, 0, BYTES, room, 0, NULL, NULL);
        data = clCreateSubBuffer(data, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &status);
    }
    if (is("argument") || is("launch")) {
        set_mem(copy, 0, is("launch") ? filled_buffer(BYTES) : data);
        set_mem(copy, 1, out);
        set_int(copy, 2, COUNT);
        launch(copy, COUNT);
        data = out;
    }
    if (is("copied"))
        clEnqueueCopyBuffer(queue, data, out, 0, 0, BYTES, 0, NULL, NULL);
    else
        read_back(data, BYTES / 2);
    return finish();
}
