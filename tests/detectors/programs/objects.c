/* Objects of many kinds with known references, sizes and arguments: what the tables of facts are checked against. */
#include "common.h"

struct four { float a, b, c, d; };

int main(int argc, char **argv)
{
    cl_int status;
    start(argc, argv);
    cl_mem whole = filled_buffer(8192);
    cl_buffer_region region = {4096, 1024};
    cl_mem part = clCreateSubBuffer(whole, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &status);
    check(status, "clCreateSubBuffer");
    cl_kernel values = make_kernel("values"), copy;
    struct four four = {1, 2, 3, 4};
    float xyz[4] = {5, 6, 7, 8};
    cl_long range[2] = {9, 10}, big = 11;
    cl_double y = 12;
    set_mem(values, 0, part);
    set(values, 1, sizeof four, &four);
    set(values, 2, sizeof range, range);
    set(values, 3, sizeof xyz, xyz);
    set(values, 4, sizeof big, &big);
    set_float(values, 5, 13);
    set(values, 6, sizeof y, &y);
    launch(values, 16);
    copy = clCloneKernel(values, &status);
    if (status == CL_SUCCESS) {
        set_float(copy, 5, 14);
        launch(copy, 16);
        clReleaseKernel(copy);
    }
    check(clRetainMemObject(whole), "clRetainMemObject");
    check(clReleaseMemObject(whole), "clReleaseMemObject");
    read_back(whole, 8192);
    clReleaseMemObject(part);
    clReleaseMemObject(whole);
    clReleaseKernel(values);
    return finish();
}
