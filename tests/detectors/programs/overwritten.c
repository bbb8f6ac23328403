/* A kernel on a CPU device writes outside its buffer, into the variable that holds a handle: the handle is a victim. The buffer is
 * memory of the program, so that what lies behind it is known. "right" stays inside. */
#include "common.h"

typedef struct {
    float data[COUNT];
    cl_mem victim;
    float slack[64];
} __attribute__((aligned(4096))) room_t;

static const char overrun[] =
    "kernel void overrun(global float *data) { data[get_global_id(0)] = 3.0e18f + get_global_id(0); }\n";

int main(int argc, char **argv)
{
    static room_t room;
    cl_int status;
    open_device(argc, argv);
    program = build(overrun);
    room.victim = filled_buffer(BYTES);
    cl_mem data = clCreateBuffer(context, CL_MEM_USE_HOST_PTR, BYTES, room.data, &status);
    check(status, "clCreateBuffer");
    cl_kernel kernel = make_kernel("overrun");
    set_mem(kernel, 0, data);
    launch(kernel, is("right") ? COUNT : COUNT + 16);
    check(clFinish(queue), "clFinish");
    read_back(room.victim, BYTES);
    clReleaseMemObject(room.victim);
    clReleaseMemObject(data);
    clReleaseKernel(kernel);
    return finish();
}
