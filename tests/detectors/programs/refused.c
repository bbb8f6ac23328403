/* Launches whose sizes break limits. Sizes come from the device, so that they break them everywhere. */
#include "common.h"

static size_t most, most_x;
static cl_ulong local_bytes;

static cl_int try(cl_kernel kernel, cl_uint dims, const size_t *global, const size_t *local)
{
    return clEnqueueNDRangeKernel(queue, kernel, dims, NULL, global, local, 0, NULL, NULL);
}

int main(int argc, char **argv)
{
    size_t sizes[3];
    start(argc, argv);
    cl_kernel kernel = make_kernel("scale"), eight = make_kernel("eight"), sum = make_kernel("shared_sum");
    cl_mem data = filled_buffer(1 << 20);
    clGetDeviceInfo(device, CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof most, &most, NULL);
    clGetDeviceInfo(device, CL_DEVICE_MAX_WORK_ITEM_SIZES, sizeof sizes, sizes, NULL);
    clGetDeviceInfo(device, CL_DEVICE_LOCAL_MEM_SIZE, sizeof local_bytes, &local_bytes, NULL);
    set_mem(kernel, 0, data);
    set_float(kernel, 1, 2);
    set_int(kernel, 2, 0);
    set_mem(eight, 0, data);
    set_mem(sum, 0, data);
    most_x = sizes[0];
    size_t global[3] = {most * 4, 4, 1}, local[3] = {most, 2, 1};
    cl_int status = 0;
    if (is("group"))
        status = try(kernel, 2, global, local);
    if (is("dimension")) {
        global[0] = local[0] = most_x * 2;
        status = try(kernel, 1, global, local);
    }
    if (is("remainder")) {
        global[0] = 100;
        local[0] = 64;
        status = try(kernel, 1, global, local);
    }
    if (is("required")) {
        global[0] = 64;
        local[0] = 4;
        status = try(eight, 1, global, local);
    }
    if (is("local")) {
        clSetKernelArg(sum, 1, local_bytes + 4096, NULL);
        global[0] = local[0] = 64;
        status = try(sum, 1, global, local);
    }
    if (is("dims"))
        status = try(kernel, 4, global, local);
    if (is("unset")) {
        global[0] = 64;
        status = try(make_kernel("scale"), 1, global, NULL);
    }
    if (is("tuned")) {  /* tries, and takes what works */
        try(kernel, 2, global, local);
        local[0] = 64;
        local[1] = 1;
        status = try(kernel, 2, global, local);
    }
    if (is("right")) {
        local[0] = 8;
        local[1] = 1;
        status = try(eight, 1, global, local);
    }
    check(status, "clEnqueueNDRangeKernel");
    return finish();
}
